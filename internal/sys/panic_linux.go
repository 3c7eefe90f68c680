package sys

import "golang.org/x/sys/unix"

// panicOnWarn and warnLimit are the sysctls kernel.panic_on_warn and
// kernel.warn_limit.
const (
	panicOnWarn = "/proc/sys/kernel/panic_on_warn"
	warnLimit   = "/proc/sys/kernel/warn_limit"
)

// PanicsOnWarning reports whether a warning of the kernel may end the host. It
// returns true if it cannot find out. With panic_on_warn, each warning does; with a
// warn_limit other than 0, the one that brings their number since boot to the limit
// does (kernel/panic.c, check_panic_on_warn). The number that is left does not
// matter, since other programs also cause warnings.
//
// Linux warns if a process gets SIGKILL while its site is being turned into a call
// (arch_uprobe_optimize, seen on 6.18 with nop5 and on 7.3 with nop10).
func PanicsOnWarning() bool {
	onWarn, missing := isSet(panicOnWarn)
	if onWarn || missing {
		return true
	}
	// Kernels before 6.2 have no limit.
	limited, _ := isSet(warnLimit)
	return limited
}

// isSet reports whether a sysctl is not 0 or cannot be read. missing reports that it
// does not exist.
func isSet(sysctl string) (set, missing bool) {
	value, err := readLine(sysctl)
	return value != "0" && err != unix.ENOENT, err == unix.ENOENT
}
