package format

import "fmt"

// Many returns a number and what there is so often, in the singular for one: a verb that follows belongs
// to both words.
func Many(n uint64, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}
