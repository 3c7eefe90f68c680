package needs

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// Tracefs returns the directory of tracefs, which perf, bcc and bpftrace 0.17 attach through.
// It is mounted for good if it was not: other tests may use it at the same time.
func Tracefs(t testing.TB) string {
	t.Helper()
	const dir = "/sys/kernel/tracing"
	if _, err := os.Stat(filepath.Join(dir, "uprobe_events")); err == nil {
		return dir
	}
	if err := unix.Mount("tracefs", dir, "tracefs", 0, ""); err != nil && !errors.Is(err, unix.EBUSY) {
		Skip(t, "needs tracefs: mount it at %s: %v", dir, err)
	}
	return dir
}
