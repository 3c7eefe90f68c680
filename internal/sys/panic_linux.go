package sys

import (
	"bytes"
	"errors"
	"os"
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
	value, err := os.ReadFile(sysctl)
	if errors.Is(err, os.ErrNotExist) {
		return false, true
	}
	return err != nil || string(bytes.TrimSpace(value)) != "0", false
}
