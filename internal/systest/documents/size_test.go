package documents_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTools checks that the tools in the guide for authors of tools have at most as many lines as it says.
func TestTools(t *testing.T) {
	const most = 60
	root := filepath.Join("..", "..", "..")
	guide, err := os.ReadFile(filepath.Join(root, "docs", "tool-authors.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, tools, _ := strings.Cut(string(guide), "Each is at most 60 lines")
	tools, _, _ = strings.Cut(tools, "\n## ")
	links := regexp.MustCompile(`\]\(\.\./(examples/\w+)`).FindAllStringSubmatch(tools, -1)
	if len(links) < 10 {
		t.Errorf("the guide has %d tools", len(links))
	}
	for _, link := range links {
		text, err := os.ReadFile(filepath.Join(root, link[1], "main.go"))
		if n := bytes.Count(text, []byte("\n")); err != nil || n > most {
			t.Errorf("%s has %d lines, want at most %d; error %v", link[1], n, most, err)
		}
	}
}

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
