// Package stackswitch finds machine code that goes on at another stack, as coroutines do:
// it keeps the stack pointer somewhere, loads it from elsewhere, and returns there.
//
// Compilers load the stack pointer only with what they have made of it in the same
// function (alloca, arrays of variable length, aligned frames), and reset it from the frame
// pointer before they return. Code that jumps back on its own stack (longjmp, unwinding)
// keeps nothing. Switches whose two halves are in different functions are not found.
package stackswitch
