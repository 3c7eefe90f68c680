// Package filter understands conditions on the arguments of a probe, such as
//
//	status >= 500 && (path ~ "/api/*" || !cached) && comm != "curl"
//
// Parse reads a condition, [Expr.Check] fits it to the arguments of one probe, and
// [Condition.Holds] evaluates it for an event, as programs in the kernel do.
// The operators are || && ! == != < <= > >= and ~, with parentheses; all but
// the first three stand between a name and a constant. Constants are integers
// (decimal, 0x…, negative), floating-point numbers, true, false and strings in
// single or double quotes with Go's escapes. On the right of ~ a '*' stands for
// any characters and a backslash takes the next character as it is.
package filter
