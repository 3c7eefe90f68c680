package leftover

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestSince leaves behind one object of each kind, and removes it.
func TestSince(t *testing.T) {
	before := held()
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.MemfdCreate("usdt:test", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Ftruncate(fd, 4096); err != nil {
		t.Fatal(err)
	}
	mem, err := unix.Mmap(fd, 0, 4096, unix.PROT_READ, unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Close(fd); err != nil {
		t.Fatal(err)
	}
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	left := strings.Join(since(before), "\n")
	for _, want := range []string{"descriptor of " + f.Name() + " (1, before 0)", "mapping of /memfd:usdt:test", "process "} {
		if !strings.Contains(left, want) {
			t.Errorf("want %q in\n%s", want, left)
		}
	}
	child.Process.Kill()
	child.Wait()
	f.Close()
	if err := unix.Munmap(mem); err != nil {
		t.Fatal(err)
	}
	if left := since(before); len(left) > 0 {
		t.Errorf("left behind: %s", left)
	}
}
