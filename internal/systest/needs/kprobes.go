package needs

import (
	"os"
	"testing"
)

// Kprobes skips the test, also in CI, on a kernel whose functions cannot be traced, as the functions of some
// hypervisors. The machines of "make test-kernels" have kprobes: there the reason is not known, and
// a failure.
func Kprobes(t testing.TB) {
	t.Helper()
	if _, err := os.Stat("/sys/bus/event_source/devices/kprobe/type"); err != nil {
		t.Skip("this kernel has no kprobes")
	}
}
