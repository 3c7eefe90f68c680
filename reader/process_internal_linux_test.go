package reader

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/elfgen"
	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/notes"
)

// TestFilesOnce checks that each file is opened once, however many processes have
// mapped it. This test's own binary has no probes, and is not opened again for that
// either.
func TestFilesOnce(t *testing.T) {
	maps, err := procfs.Maps(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	objects := procfs.Objects(os.Getpid(), maps)
	fs := newFiles()
	defer fs.close()
	for _, o := range objects {
		if f, opened, err := fs.open(o); err != nil || f == nil && opened == "" {
			t.Errorf("first: %s was opened as %q, %v", o.Path, opened, err)
		}
		again := *o
		again.Path = "/nonexistent"
		sole := fs.byID[o.ID] != nil // otherwise maps and stat give different ids here
		if _, opened, err := fs.open(&again); err != nil || sole && opened != "" {
			t.Errorf("second: %s was opened as %q, %v", o.Path, opened, err)
		}
	}
	if len(objects) == 0 || len(fs.byID) > len(objects) {
		t.Errorf("%d files of %d objects", len(fs.byID), len(objects))
	}
}

// objectsOf returns the objects that a process has if its maps have these lines.
func objectsOf(t *testing.T, pid int, lines ...string) []*procfs.Object {
	t.Helper()
	var maps []byte
	for _, l := range lines {
		maps = append(maps, l+"\n"...)
	}
	parsed, err := procfs.ParseMaps(maps)
	if err != nil {
		t.Fatal(err)
	}
	return procfs.Objects(pid, parsed)
}

// mapsLine returns the line that process maps have for the file at path, as on a
// device.
func mapsLine(t *testing.T, path string, major, minor uint32) (line string, inode uint64) {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		t.Fatal(err)
	}
	if major == 0 && minor == 0 {
		major, minor = unix.Major(st.Dev), unix.Minor(st.Dev)
	}
	return fmt.Sprintf("1000-2000 r-xp 00000000 %02x:%02x %d %s", major, minor, st.Ino, path), st.Ino
}

// writeObject writes an ELF file that has a section of probes.
func writeObject(t *testing.T, path string) {
	t.Helper()
	o := elfgen.Object{
		Class: elfgen.ELFCLASS64, Data: elfgen.ELFDATA2LSB, Machine: elfgen.EM_X86_64,
		Sections: []*elfgen.Section{{Name: notes.SectionName, Type: elfgen.SHT_NOTE, Align: 4, Size: 4}},
	}
	img, err := o.Layout()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, img.Finish(), 0o700); err != nil {
		t.Fatal(err)
	}
}

// TestEndsMeanwhile checks that a process that ends while it is read does not hide
// the files that it shares with others, and is skipped with all of its own.
func TestEndsMeanwhile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "o.so")
	writeObject(t, path)
	line, _ := mapsLine(t, path, 0, 0)
	// Only a process that has the file open can reach it.
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	dead := cmd.Process.Pid
	// The process stays a zombie, whose directory in /proc exists.
	if err := unix.Waitid(unix.P_PID, dead, nil, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
	files := newFiles()
	defer files.close()
	gone := objectsOf(t, dead, line)
	if _, _, err := files.open(gone[0]); !errors.Is(err, os.ErrNotExist) || err.Error() != procfs.Empty(dead).Error() {
		t.Errorf("of the zombie: %v", err)
	}
	if f, _, err := files.open(objectsOf(t, os.Getpid(), line)[0]); err != nil || f == nil {
		t.Errorf("of another process: %v, %v", f, err)
	}
	for _, shared := range []bool{true, false} {
		p := &Process{pid: dead, objects: append(gone, gone...), files: files, shared: shared}
		var errs []error
		for _, err := range p.Probes() {
			errs = append(errs, err)
		}
		if want := map[bool]int{true: 0, false: 1}[shared]; len(errs) != want || want == 1 && !errors.Is(errs[0], os.ErrNotExist) {
			t.Errorf("shared %v: got %v", shared, errs)
		}
	}
}

// TestUnmappedMeanwhile checks that the probes that a process has unmapped since its
// maps were read are left out.
func TestUnmappedMeanwhile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "o.so")
	writeObject(t, path)
	line, _ := mapsLine(t, path, 0, 0)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	files := newFiles()
	defer files.close()
	p := &Process{pid: os.Getpid(), objects: objectsOf(t, os.Getpid(), line), files: files}
	for probe, err := range p.Probes() {
		t.Errorf("got %v, %v", probe, err)
	}
}

// TestSubvolumes checks that two files are not taken for one on btrfs, where each
// subvolume numbers its own files and maps have one device for all of them.
func TestSubvolumes(t *testing.T) {
	needs.Root(t)
	var lines []string
	var inodes []uint64
	for _, name := range []string{"a", "b"} {
		dir := filepath.Join(t.TempDir(), name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		// A fresh tmpfs numbers its files from the start.
		if err := unix.Mount("none", dir, "tmpfs", 0, ""); err != nil {
			needs.Skip(t, "needs to mount: %v", err)
		}
		t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
		path := filepath.Join(dir, "o.so")
		writeObject(t, path)
		line, inode := mapsLine(t, path, 0xfff, 1)
		lines, inodes = append(lines, line), append(inodes, inode)
	}
	if inodes[0] != inodes[1] {
		t.Fatalf("the inodes are %d", inodes)
	}
	files := newFiles()
	defer files.close()
	var got []*File
	for _, line := range append(lines, lines[0]) {
		f, opened, err := files.open(objectsOf(t, os.Getpid(), line)[0])
		if err != nil || f == nil || opened == "" {
			t.Fatalf("%s: %v, %q, %v", line, f, opened, err)
		}
		got = append(got, f)
	}
	if got[0] == got[1] || got[0] != got[2] {
		t.Errorf("got %p, %p and %p again, want two files", got[0], got[1], got[2])
	}
}
