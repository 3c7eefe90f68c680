// Package gate stops a process when it gets new code: when it executes a program,
// and when the dynamic linker has mapped libraries. None of that code has run
// then, so that a tracer can attach to it first. Providers, which map objects of
// their own, wait by themselves: see [Providers].
package gate
