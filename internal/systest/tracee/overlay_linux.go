package tracee

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

// Overlays mounts two overlays of one directory, as containers of one image
// have them.
func Overlays(t testing.TB, lower string) (mounts [2]string) {
	t.Helper()
	needs.Root(t)
	for i := range mounts {
		dir := t.TempDir()
		mounts[i] = filepath.Join(dir, "merged")
		upper, work := filepath.Join(dir, "upper"), filepath.Join(dir, "work")
		if err := errors.Join(os.Mkdir(mounts[i], 0o755), os.Mkdir(upper, 0o755), os.Mkdir(work, 0o755)); err != nil {
			t.Fatal(err)
		}
		data := "lowerdir=" + lower + ",upperdir=" + upper + ",workdir=" + work
		if err := unix.Mount("overlay", mounts[i], "overlay", 0, data); err != nil {
			needs.Skip(t, "no overlays here: %v", err)
		}
		t.Cleanup(func() { unix.Unmount(mounts[i], unix.MNT_DETACH) })
	}
	return mounts
}
