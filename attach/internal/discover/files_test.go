package discover

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach/internal/overlay"
	"github.com/go-usdt/usdt/attach/internal/process"
	"github.com/go-usdt/usdt/internal/procfs"
)

// TestStateOf checks that a file which a selector names is not searched again
// because /proc/PID/maps gives it another device, as on btrfs.
func TestStateOf(t *testing.T) {
	d := New(parsed(t, "/proc/self/exe:none:none", "none:none"), &process.Set{})
	if err := d.named("/proc/self/exe"); err != nil {
		t.Fatal(err)
	}
	file, err := procfs.OpenFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	mapped := procfs.ID{Dev: unix.Mkdev(0, 1<<19), Inode: 1}
	state, known := d.stateOf(inFile(t, procfs.Object{ID: mapped}, file), os.Getpid())
	if !known || !state.named || d.read[mapped] != state {
		t.Errorf("a file that has been named: known %t, state %+v, found by its id in maps %t", known, state, d.read[mapped] == state)
	}

	other := newFile(t)
	mapped.Inode = 2
	state, known = d.stateOf(inFile(t, procfs.Object{ID: mapped}, other), os.Getpid())
	if known || state.named || state.unlinked || state.id == mapped || d.read[mapped] != state {
		t.Errorf("another file: known %t, state %+v", known, state)
	}
	mapped.Inode = 3
	if again, known := d.stateOf(inFile(t, procfs.Object{ID: mapped}, other), os.Getpid()); !known || again != state {
		t.Error("the other file by another id is a new one")
	}
}

// inFile returns an object in an open file.
func inFile(t *testing.T, o procfs.Object, file *procfs.File) *mappedObject {
	t.Helper()
	info, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	st := info.Sys().(*syscall.Stat_t)
	out := &mappedObject{Object: o}
	out.file.stat = st
	out.file.holds, out.file.lower = lower(file, st.Ino, &overlay.Inodes{})
	return out
}

// newFile returns an empty file.
func newFile(t *testing.T) *procfs.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := procfs.OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// TestSubvolumes checks that files of two subvolumes to which /proc/PID/maps
// gives one id, as on btrfs, are two files, each searched once, also if a
// container has one by the same path as the other.
func TestSubvolumes(t *testing.T) {
	d := New(parsed(t, "none:none"), &process.Set{})
	mapped := procfs.ID{Dev: unix.Mkdev(0, 1<<19), Inode: 1}
	var files []*procfs.File
	var states []*fileState
	for _, path := range []string{"/a/lib.so", "/b/lib.so"} {
		o := &procfs.Object{ID: mapped, Path: path}
		if state := d.known(o, os.Getpid()); state != nil {
			t.Errorf("%s is known as %+v", path, state)
		}
		file := newFile(t)
		state, known := d.stateOf(inFile(t, *o, file), os.Getpid())
		if known {
			t.Errorf("%s was known when it was opened", path)
		}
		if again := d.known(o, os.Getpid()); again != state {
			t.Errorf("%s is %p, then %p", path, state, again)
		}
		files, states = append(files, file), append(states, state)
	}
	if states[0] == states[1] || states[0].id == states[1].id {
		t.Errorf("two files, one state: %+v, %+v", states[0], states[1])
	}
	// The file is opened again, and known, under another path, such as a second mount's.
	o := &procfs.Object{ID: mapped, Path: "/c/lib.so"}
	if state := d.known(o, os.Getpid()); state != nil {
		t.Errorf("%s is known as %+v", o.Path, state)
	}
	if state, known := d.stateOf(inFile(t, *o, files[0]), os.Getpid()); !known || state != states[0] {
		t.Errorf("%s: known %t as %p, want %p", o.Path, known, state, states[0])
	}
	// Files that no process has mapped any more are forgotten.
	d.scan += unmappedScans
	d.forgetUnmapped()
	if len(d.read)+len(d.mappings)+len(d.lower) > 0 {
		t.Errorf("%d files, %d mappings and %d inodes remain", len(d.read), len(d.mappings), len(d.lower))
	}
}
