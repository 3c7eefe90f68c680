package tracee

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// Alone waits until no other test, in whatever process, is alone with the same name, and has others
// wait until this one has ended: for probes that a document traces in all processes.
func Alone(t testing.TB, name string) {
	t.Helper()
	f, err := os.Create(filepath.Join(os.TempDir(), "usdt-test-"+name+".lock"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
}
