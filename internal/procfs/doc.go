// Package procfs reads what /proc says about the memory of processes.
//
// The formats are those of proc(5) and of Documentation/filesystems/proc.rst
// in the kernel.
package procfs
