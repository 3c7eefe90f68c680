package owned

import "fmt"

// errorf is fmt.Errorf, not inlined into each function that fails: a service would weigh
// more.
//
//go:noinline
func errorf(format string, args ...any) error { return fmt.Errorf(format, args...) }
