package output_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/go-usdt/usdt/cmd/sdttrace/internal/output"
)

// TestMode checks that only the owner can read a new file, and that one that was there keeps its mode.
func TestMode(t *testing.T) {
	dir := t.TempDir()
	fresh, old := filepath.Join(dir, "fresh"), filepath.Join(dir, "old")
	if err := os.WriteFile(old, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(old, 0o644); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]os.FileMode{fresh: 0o600, old: 0o644} {
		var files output.Files
		if err := files.Check(t.Context(), path, os.Stderr); err != nil {
			t.Fatal(err)
		}
		file, err := files.Create(path, os.Stdout)
		if err != nil {
			t.Fatal(err)
		}
		info, err := file.(*os.File).Stat()
		if err != nil || info.Mode() != want {
			t.Errorf("%s has the mode %v, want %v, %v", path, info.Mode(), want, err)
		}
		file.Close()
	}
}
