package tracee

import (
	"errors"
	"io/fs"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// Alone waits until no other test, in whatever process and of whatever user, is alone with the same name,
// and has others wait until this one has ended: for probes of a fixed name that a test or a document
// traces in all processes.
func Alone(t testing.TB, name string) {
	t.Helper()
	f, err := openShared("/tmp/usdt-test-" + name + ".lock")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
}

// openShared opens a file that any user may have made. The kernel may refuse O_CREATE for a file
// of another user in /tmp.
func openShared(path string) (f *os.File, err error) {
	for range 2 {
		if f, err = os.Open(path); err == nil {
			return f, nil
		}
		if f, err = os.OpenFile(path, os.O_RDONLY|os.O_CREATE|os.O_EXCL, 0o644); !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
	return nil, err
}
