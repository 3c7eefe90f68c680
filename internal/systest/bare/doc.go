// Package bare executes machine code in a process that has nothing else: no libc and no
// runtime. Pieces of code are in a file of their own, which a small driver (corpus.c of
// attach's testdata) maps. The driver gives each piece its registers and its memory, and
// keeps what has become of them when the piece ends with a signal. All of it happens in
// that process: a million pieces take seconds, a million stops of ptrace take minutes.
package bare
