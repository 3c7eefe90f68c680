package procfs_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/internal/systest/needs"
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
	if err := os.Symlink(dir, dir+".link"); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(dir + ".link")
	for _, p := range []string{path, filepath.Join(dir+".link", "map"), "/../.." + path} {
		f, err := procfs.OpenIn(os.Getpid(), p)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if got, err := io.ReadAll(f); err != nil || string(got) != "here" {
			t.Errorf("%s: got %q, %v", p, got, err)
		}
	}
	if f, err := procfs.OpenIn(os.Getpid(), filepath.Join(dir, "link")); !errors.Is(err, procfs.ErrNotRegular) {
		t.Errorf("a link: got %v, %v", f, err)
	}
	if f, err := procfs.OpenIn(os.Getpid(), dir); !errors.Is(err, procfs.ErrNotRegular) {
		t.Errorf("a directory: got %v, %v", f, err)
	}
	if f, err := procfs.OpenIn(1<<30, path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no process: got %v, %v", f, err)
	}
}

// TestOwnedBy checks that a file that others can write to, or have, is nobody's.
func TestOwnedBy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "map")
	check := func(what string, want bool) {
		t.Helper()
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := procfs.OwnedBy(info, os.Getpid()); got != want {
			t.Errorf("%s: got %v, want %v", what, got, want)
		}
	}
	for mode, want := range map[os.FileMode]bool{0o600: true, 0o644: true, 0o622: false, 0o620: false} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		check(fmt.Sprintf("mode %o", mode), want)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	needs.Root(t)
	if err := os.Chown(path, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	check("nobody's file", false)
}
