//go:build !plan9

package record

import "syscall"

// errno returns the kernel's error of a number.
func errno(n int64) error { return syscall.Errno(n) }
