// Package returns finds the instructions with which a function returns to its caller. It follows
// the code from the function's entry, and refuses functions that may leave in another way: a jump
// to another function returns from that one.
package returns
