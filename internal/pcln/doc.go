// Package pcln reads the table of functions and lines of Go programs, .gopclntab,
// which stripping keeps. It knows the tables since Go 1.16, the functions in those since
// Go 1.2, and trusts none: package debug/gosym trusts its input.
//
// The format is that of the Go runtime: runtime/symtab.go (pcHeader, moduledata),
// runtime/runtime2.go (_func) and runtime/symtabinl.go (inlinedCall).
package pcln
