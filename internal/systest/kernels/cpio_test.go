package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// cpioEntry is an entry of an archive as readCPIO finds it.
type cpioEntry struct {
	Name         string
	Mode, Links  uint64
	Major, Minor uint64 // of a device
	Data         string
}

// readCPIO reads an archive by cpio(5): a magic number, thirteen hexadecimal
// fields of eight digits, the name with its NUL and the data, both padded.
func readCPIO(b []byte) (entries []cpioEntry, err error) {
	inodes := map[uint64]bool{}
	offset := 0
	take := func(n int) []byte {
		if err == nil && offset+n > len(b) {
			err = fmt.Errorf("%d bytes are wanted at %d, the archive has %d", n, offset, len(b))
		}
		if err != nil {
			return make([]byte, n)
		}
		offset += n
		return b[offset-n : offset]
	}
	pad := func() {
		for offset%4 != 0 && err == nil {
			if c := take(1)[0]; c != 0 {
				err = fmt.Errorf("padding at %d is %#x", offset-1, c)
			}
		}
	}
	for err == nil {
		if magic := string(take(6)); err == nil && magic != "070701" {
			return entries, fmt.Errorf("magic number %q at %d", magic, offset-6)
		}
		var fields [13]uint64
		for i := range fields {
			if _, e := fmt.Sscanf(string(take(8)), "%08x", &fields[i]); e != nil && err == nil {
				err = fmt.Errorf("field %d before %d: %w", i, offset, e)
			}
		}
		ino, size, nameSize := fields[0], int(fields[6]), int(fields[11])
		name := string(take(nameSize))
		pad()
		data := string(take(size))
		pad()
		if err != nil {
			break
		}
		name, ok := strings.CutSuffix(name, "\x00")
		if !ok || inodes[ino] {
			return entries, fmt.Errorf("entry %q: inode %d is used twice, or the name has no end", name, ino)
		}
		inodes[ino] = true
		if name == "TRAILER!!!" {
			if offset != len(b) {
				err = fmt.Errorf("%d bytes behind the trailer", len(b)-offset)
			}
			return entries, err
		}
		entries = append(entries, cpioEntry{name, fields[1], fields[4], fields[9], fields[10], data})
	}
	return entries, err
}

func TestCPIO(t *testing.T) {
	var b bytes.Buffer
	w := newCPIO(&b)
	if err := errors.Join(
		w.device("dev/console", 0o600, 5, 1),
		w.file("a", 0o755, []byte("12345")),
		w.file("deep/er/b", 0o644, nil),
		w.file("deep/er/longer name", 0o644, []byte("1234")),
		w.symlink("deep/link", "/a"),
		w.close(),
	); err != nil {
		t.Fatal(err)
	}
	got, err := readCPIO(b.Bytes())
	if err != nil {
		t.Error(err)
	}
	want := []cpioEntry{
		{"dev", 0o040755, 1, 0, 0, ""},
		{"dev/console", 0o020600, 1, 5, 1, ""},
		{"a", 0o100755, 1, 0, 0, "12345"},
		{"deep", 0o040755, 1, 0, 0, ""},
		{"deep/er", 0o040755, 1, 0, 0, ""},
		{"deep/er/b", 0o100644, 1, 0, 0, ""},
		{"deep/er/longer name", 0o100644, 1, 0, 0, "1234"},
		{"deep/link", 0o120777, 1, 0, 0, "/a"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("archive (-want +got):\n%s", d)
	}
}

// TestCopyTree checks that all files of a directory are copied, and that a
// missing directory is no error.
func TestCopyTree(t *testing.T) {
	dir := t.TempDir()
	for name, contents := range map[string]string{"one": "1", "sub/two": "22"} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(contents), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	var b bytes.Buffer
	w := newCPIO(&b)
	if err := errors.Join(w.copyTree("src/testdata", dir), w.copyTree("none", filepath.Join(dir, "missing")), w.close()); err != nil {
		t.Fatal(err)
	}
	got, err := readCPIO(b.Bytes())
	if err != nil {
		t.Error(err)
	}
	want := []cpioEntry{
		{"src", 0o040755, 1, 0, 0, ""},
		{"src/testdata", 0o040755, 1, 0, 0, ""},
		{"src/testdata/one", 0o100644, 1, 0, 0, "1"},
		{"src/testdata/sub", 0o040755, 1, 0, 0, ""},
		{"src/testdata/sub/two", 0o100644, 1, 0, 0, "22"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("archive (-want +got):\n%s", d)
	}
}
