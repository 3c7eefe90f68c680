// Package grammar has the tables of the language of conditions: what --where, keys of groups and
// the filter of pages have in common. Package filter of attach understands it in Go, the page of
// sdttrace in its program.
package grammar

// Limits on conditions.
const (
	MaxInput    = 8 << 10 // bytes
	MaxDepth    = 64      // of parentheses and of '!'
	MaxOperands = 32      // arguments and constants of an expression
	MaxPending  = 8       // results that wait for others at a time
	MaxString   = 512     // bytes of a string that are compared
)

// Symbols are all that are no names and no constants; a symbol stands before its own beginnings.
var Symbols = []string{"&&", "||", "==", "!=", "<=", ">=", "<<", ">>", "[:", "<", ">", "!", "~", "(", ")", "]", "*", "/", "%", "&"}

// Operators of expressions: Products bind tighter than Sums, as in Go.
var (
	Sums     = []string{"+", "-"}
	Products = []string{"*", "/", "%", "&", "<<", ">>"}
)

// Mirrored are the comparisons with their sides exchanged.
var Mirrored = map[string]string{"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

// TaskKeys are the names that mean the task that fires.
var TaskKeys = []string{"pid", "tid", "comm", "cpu", "uid", "cgroup", "container", "pod"}
