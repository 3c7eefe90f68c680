package printable

import "fmt"

// Many returns a number and what there is so often, in the singular for one: a verb that follows belongs
// to both words.
func Many[N int | int64 | uint32 | uint64](n N, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}
