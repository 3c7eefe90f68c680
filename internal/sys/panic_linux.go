package sys

import (
	"strings"

	"golang.org/x/sys/unix"
)

// panicOnWarn and warnLimit are the sysctls kernel.panic_on_warn and
// kernel.warn_limit.
const (
	panicOnWarn = "/proc/sys/kernel/panic_on_warn"
	warnLimit   = "/proc/sys/kernel/warn_limit"
)

// PanicsOnWarning reports whether a warning of the kernel may end the host, also
// if it cannot be asked: each does with panic_on_warn, and one that brings their
// number since boot to warn_limit, if that is not 0 (kernel/panic.c,
// check_panic_on_warn). How many are left does not matter, since others warn,
// too.
//
// Linux warns where a process gets SIGKILL while its site is being turned into
// a call (arch_uprobe_optimize, seen on 6.18 with nop5 and on 7.3 with nop10).
func PanicsOnWarning() bool {
	onWarn, missing := isSet(panicOnWarn)
	if onWarn || missing {
		return true
	}
	// Kernels before 6.2 have no limit.
	limited, _ := isSet(warnLimit)
	return limited
}

// isSet reports whether a sysctl is something else than 0, or cannot be read; one
// that does not exist is missing.
func isSet(sysctl string) (set, missing bool) {
	// Not os.ReadFile, which links the formatting of times and dates (RATIONALE.md).
	fd, err := unix.Open(sysctl, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err != unix.ENOENT, err == unix.ENOENT
	}
	defer unix.Close(fd)
	var value [16]byte // more than any number needs
	n, err := unix.Read(fd, value[:])
	return err != nil || strings.TrimSuffix(string(value[:n]), "\n") != "0", false
}
