package session

import (
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach"
)

// Known returns what the prototypes of options say of the pairs of two probes: whether starts do not
// nest, and the condition on them; see [prototype.Look].
func Known(start, end string, opts *attach.Options) (flat bool, where string) {
	if opts == nil {
		return false, ""
	}
	l := opts.Prototypes.Pair(start, end)
	if l == nil {
		return false, ""
	}
	return l.Flat, l.If
}

// Ended reports whether the process of a start has ended, as workers do that are given the statement of another
// process: pairs whose starts do not nest end in other ways as well.
func Ended(start attach.Pair) bool { return unix.Kill(start.Start.PID, 0) == unix.ESRCH }
