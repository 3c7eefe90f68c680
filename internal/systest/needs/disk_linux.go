package needs

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// Loop loads the module loop, whose disks lie in files. The test is skipped, also in CI, on other machines than
// the ones of "make test-kernels": there the reason is not known, and a failure.
func Loop(t testing.TB) {
	t.Helper()
	f, err := os.Open("/boot/loop.ko")
	if err != nil {
		t.Skip("this machine lends no module")
	}
	defer f.Close()
	if err := unix.FinitModule(int(f.Fd()), "", 0); err != nil && !errors.Is(err, unix.EEXIST) {
		t.Fatalf("load loop.ko: %v", err)
	}
}

// Disk returns a directory on a disk with the file system ext4, where Loop does not skip the test.
func Disk(t testing.TB) (dir string) {
	t.Helper()
	Loop(t)
	dir = t.TempDir()
	Run(t, "mount", "-t", "ext4", "-o", "loop", "/boot/disk", dir)
	t.Cleanup(func() { Run(t, "umount", dir) })
	return dir
}
