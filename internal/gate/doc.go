// Package gate stops a process where it gets code that nobody has looked at: when
// it executes a program, and when the dynamic linker has mapped libraries. Nothing
// of them has run then, and whoever traces the process can attach to them first.
// Providers, which map objects of their own, wait by themselves: see [Providers].
package gate
