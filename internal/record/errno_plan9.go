package record

import "fmt"

// errno returns an error of Linux, which has no name here.
func errno(n int64) error { return fmt.Errorf("error %d of Linux", n) }
