// Package filter understands conditions on the arguments of a probe, such as
//
//	status >= 500 && (path ~ "/api/*" || !cached) && comm != "curl" && size % 4096 != 0
//
// Parse reads a condition, [Expr.Check] fits it to the arguments of one probe, and
// [Condition.Holds] evaluates it for an event, as programs in the kernel do. ParseKey
// reads a key of groups: what may stand on one side of a comparison.
//
// The operators are || && ! == != < <= > >= and ~, with parentheses; all but
// the first three stand between a value and a constant. A value is a name, the beginning
// of a text, name[:16], or an expression of integers with + - * / % & << and >>, which
// bind as they do in Go. Constants are integers
// (decimal, 0x…, negative), floating-point numbers, true, false and strings in
// single or double quotes with Go's escapes. On the right of ~ a '*' stands for
// any characters and a backslash takes the next character as it is.
//
// Expressions are computed with 64 bits and wrap around. An operation is signed if one of
// its operands is, and its result is signed if it subtracts. Quotients are rounded towards zero, and a
// remainder has the sign of what is divided; what is divided by zero has no value. A shift by 64
// or more leaves nothing but the sign. Durations are nanoseconds.
package filter
