package procfs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// TestMappedID compares the id of a file with that in the maps of a process that runs it: also on
// an overlay whose layers are on two file systems, where stat gives another device.
func TestMappedID(t *testing.T) {
	needs.Root(t)
	runtime.LockOSThread() // the kernel kills what it traces when this thread ends
	lower := t.TempDir()
	if err := unix.Mount("lower", lower, "tmpfs", 0, ""); err != nil {
		needs.Skip(t, "no overlays here: %v", err)
	}
	t.Cleanup(func() { unix.Unmount(lower, unix.MNT_DETACH) })
	self, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = os.WriteFile(filepath.Join(lower, "self"), self, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{lower, tracee.Overlays(t, lower)[0]} {
		path := filepath.Join(dir, "self")
		f, err := procfs.OpenFile(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		got, err := procfs.MappedID(f)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(path, "-test.run=^$")
		cmd.SysProcAttr = &unix.SysProcAttr{Ptrace: true} // stops it when it has executed
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var st unix.WaitStatus
		if _, err := unix.Wait4(cmd.Process.Pid, &st, 0, nil); err != nil {
			t.Fatal(err)
		}
		maps, err := procfs.Maps(cmd.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		if want := (procfs.ID{Dev: maps[0].Dev, Inode: maps[0].Inode}); got != want {
			t.Errorf("%s: got %+v, its process has %+v", path, got, want)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		cmd.Wait()
	}
}
