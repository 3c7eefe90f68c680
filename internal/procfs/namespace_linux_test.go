package procfs_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-usdt/usdt/internal/procfs"
)

// TestOpenIn opens files as this process sees them, and follows no link out of a root.
func TestOpenIn(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "map")
	if err := os.WriteFile(path, []byte("here"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("map", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{path, filepath.Join(dir, "link"), "/../.." + path} {
		f, err := procfs.OpenIn(os.Getpid(), p)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if got, err := io.ReadAll(f); err != nil || string(got) != "here" {
			t.Errorf("%s: got %q, %v", p, got, err)
		}
	}
	if f, err := procfs.OpenIn(os.Getpid(), dir); !errors.Is(err, procfs.ErrNotRegular) {
		t.Errorf("a directory: got %v, %v", f, err)
	}
	if f, err := procfs.OpenIn(1<<30, path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no process: got %v, %v", f, err)
	}
}

// TestOwnedLike checks that a file that others can write to is nobody's.
func TestOwnedLike(t *testing.T) {
	path := filepath.Join(t.TempDir(), "map")
	for mode, want := range map[os.FileMode]bool{0o600: true, 0o644: true, 0o622: false, 0o620: false} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := procfs.OwnedLike(info, os.Getpid()); got != want {
			t.Errorf("mode %o: got %v, want %v", mode, got, want)
		}
	}
}

// TestStartTime compares this process with its parent, which is older.
func TestStartTime(t *testing.T) {
	own, err := procfs.StartTime(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	parent, err := procfs.StartTime(os.Getppid())
	if err != nil || parent > own || own == 0 {
		t.Errorf("got %d, and %d, %v for the parent", own, parent, err)
	}
	if _, err := procfs.StartTime(1 << 30); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no process: got %v", err)
	}
	if got := procfs.NamespacePID(os.Getpid()); got != os.Getpid() {
		t.Errorf("got PID %d, want %d", got, os.Getpid())
	}
}
