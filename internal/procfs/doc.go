// Package procfs reads what /proc says about the memory of processes.
//
// The formats follow proc(5) and Documentation/filesystems/proc.rst
// in the kernel.
package procfs
