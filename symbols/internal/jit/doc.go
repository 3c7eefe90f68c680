// Package jit reads what programs that generate code say about it: perf maps and
// jitdump files. It does not trust them.
//
// The formats follow the kernel's tools/perf/Documentation/jit-interface.txt and
// tools/perf/Documentation/jitdump-specification.txt.
package jit
