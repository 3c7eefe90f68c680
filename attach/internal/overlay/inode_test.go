package overlay

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// inodeOf returns the inode that the kernel has for the file at a path.
func inodeOf(t *testing.T, x *Inodes, path string) (Inode, bool) {
	t.Helper()
	f, err := procfs.OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	inode, err := x.Of(f, st.Ino)
	if err != nil {
		needs.Root(t)
		t.Fatal(err)
	}
	if inode.Number != st.Ino || inode.Address>>63 == 0 {
		t.Errorf("%s: inode %#x, want number %#x and an address of the kernel's", path, inode, st.Ino)
	}
	return inode, Holds(f)
}

// TestOneFile checks that a file has one inode by whatever path, and another file has
// another.
func TestOneFile(t *testing.T) {
	dir := t.TempDir()
	path, hard, other := filepath.Join(dir, "file"), filepath.Join(dir, "hard"), filepath.Join(dir, "other")
	for _, name := range []string{path, other} {
		if err := os.WriteFile(name, []byte("some bytes"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(path, hard); err != nil {
		t.Fatal(err)
	}
	var x Inodes
	defer x.Close()
	// Open files keep their inodes in memory, and so at their addresses.
	for _, name := range []string{path, other} {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
	}
	first, _ := inodeOf(t, &x, path)
	x.Close() // it can be used again
	if again, _ := inodeOf(t, &x, hard); again != first {
		t.Errorf("by another path: inode %#x, want %#x", again, first)
	}
	if second, _ := inodeOf(t, &x, other); second.Address == first.Address || second.Number == first.Number {
		t.Errorf("another file has inode %#x, as %#x", second, first)
	}
}

// TestLayer checks that a file of the layer below is one file in two overlays, as it is
// for the kernel when it places uprobes, and that a file in a layer above is another.
func TestLayer(t *testing.T) {
	lower := t.TempDir()
	if err := os.WriteFile(filepath.Join(lower, "file"), []byte("some bytes"), 0o600); err != nil {
		t.Fatal(err)
	}
	mounts := tracee.Overlays(t, lower)
	var x Inodes
	defer x.Close()
	held, err := os.Open(filepath.Join(lower, "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	var inodes [2]Inode
	for i, dir := range mounts {
		var on bool
		if inodes[i], on = inodeOf(t, &x, filepath.Join(dir, "file")); !on {
			t.Errorf("%s is not on an overlay", dir)
		}
	}
	if inodes[0].Address != inodes[1].Address {
		t.Errorf("inodes %#x in two overlays of one file, want one", inodes)
	}
	changed := filepath.Join(mounts[0], "file")
	if err := os.WriteFile(changed, []byte("other bytes"), 0o600); err != nil {
		t.Fatal(err)
	}
	if above, _ := inodeOf(t, &x, changed); above.Address == inodes[1].Address {
		t.Errorf("a changed file has inode %#x, as the file below", above)
	}
}
