// Package supply checks what this module is made of: it decides whose code runs
// in the programs that use the module, so that an added import does not. It also
// checks that no test skips itself in CI.
package supply
