package needs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// Tracepoints skips the test, also in CI, on a kernel without events of system calls. The machines of
// "make test-kernels" have them: there the reason is not known, and a failure.
func Tracepoints(t testing.TB) {
	t.Helper()
	_, err := os.Stat(filepath.Join(Tracefs(t), "events/syscalls/sys_enter_mkdirat/id"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		t.Skip("this kernel has no events of system calls")
	case err != nil:
		Skip(t, "%v", err)
	}
}
