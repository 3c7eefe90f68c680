package documents_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSizes checks that packages have at most 30 files and 4,000 lines, unless ARCHITECTURE.md gives
// a reason.
func TestSizes(t *testing.T) {
	const most, mostLines = 30, 4000
	root := filepath.Join("..", "..", "..")
	text, err := os.ReadFile(filepath.Join(root, "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, reasons, _ := strings.Cut(string(text), "A package has at most 30 files and 4,000 lines")
	reasons, _, _ = strings.Cut(reasons, "\n")
	files, lines := map[string]int{}, map[string]int{}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "testdata":
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		b, err := os.ReadFile(path)
		dir, _ := filepath.Rel(root, filepath.Dir(path))
		files[dir]++
		lines[dir] += bytes.Count(b, []byte("\n"))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for dir, n := range files {
		large, named := n > most || lines[dir] > mostLines, strings.Contains(reasons, "`"+dir+"`")
		if large && !named {
			t.Errorf("%s has %d files and %d lines, and ARCHITECTURE.md has no reason why", dir, n, lines[dir])
		}
		if named && !large {
			t.Errorf("%s has %d files and %d lines: ARCHITECTURE.md needs no reason", dir, n, lines[dir])
		}
	}
}
