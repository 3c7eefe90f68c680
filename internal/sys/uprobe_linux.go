package sys

import (
	"runtime"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// uprobeSyscall is uprobe(2) on x86-64, through which the kernel's trampoline
// enters (arch/x86/entry/syscalls/syscall_64.tbl).
const uprobeSyscall = 336

// UprobeOptimization returns the optimization of the running kernel. It makes the
// system call that optimised sites make: called from elsewhere, this fails with ENXIO
// where nop5 is optimised and with EPROTO where nop10 is.
//
// It does not ask kernels before 6.18: they have no such call, and a seccomp filter
// may kill a process for an unknown one (the exemption from filters came together
// with the call).
func UprobeOptimization() Optimization {
	optimization.Do(func() { optimization.of = findOptimization() })
	return optimization.of
}

// optimization is that of the running kernel.
var optimization struct {
	sync.Once
	of Optimization
}

func findOptimization() Optimization {
	if runtime.GOARCH != "amd64" || !kernelAtLeast(6, 18) {
		return NoOptimization
	}
	switch _, _, errno := unix.Syscall(uprobeSyscall, 0, 0, 0); errno {
	case unix.ENXIO:
		return OptimizesNop5
	case unix.EPROTO:
		return OptimizesNop10
	}
	return NoOptimization
}

// kernelAtLeast reports whether uname returns this version or a later one.
func kernelAtLeast(major, minor int) bool {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return false
	}
	return releaseAtLeast(unix.ByteSliceToString(u.Release[:]), major, minor)
}

// releaseAtLeast reports whether release, such as "6.18.44-generic", is this version
// or a later one. A release that it cannot read counts as old.
func releaseAtLeast(release string, major, minor int) bool {
	m, rest := Number(release)
	n := 0
	if strings.HasPrefix(rest, ".") {
		n, _ = Number(rest[1:])
	}
	return m > major || m == major && n >= minor
}
