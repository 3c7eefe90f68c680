package sys

import (
	"bytes"
	"os"
)

// panicOnWarn is the sysctl kernel.panic_on_warn.
const panicOnWarn = "/proc/sys/kernel/panic_on_warn"

// PanicsOnWarning reports whether a warning of the kernel ends the host, also
// if it cannot be asked.
//
// Linux warns where a process gets SIGKILL while its site is being turned into
// a call (arch_uprobe_optimize, seen on 6.18 with nop5 and on 7.3 with nop10).
func PanicsOnWarning() bool { return panicsOnWarning(panicOnWarn) }

func panicsOnWarning(sysctl string) bool {
	value, err := os.ReadFile(sysctl)
	return err != nil || string(bytes.TrimSpace(value)) != "0"
}
