// Package bare executes machine code in a process that has nothing else: a program of a
// few bytes that the package writes, without a compiler, a libc and a runtime. Its
// tracer sets every register and the memory, lets it run to the next breakpoint or
// fault, and looks at what has become of them.
package bare
