package documents_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const root = "../../../"

// all returns the text of every document by its path from the root.
func all(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/why/*.md"} {
		paths, err := filepath.Glob(root + pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			texts[strings.TrimPrefix(path, root)] = string(b)
		}
	}
	if len(texts) == 0 {
		t.Fatal("no documents")
	}
	return texts
}

var (
	heading = regexp.MustCompile(`(?m)^(#+) (.+)$`)
	fence   = regexp.MustCompile("(?ms)^```.*?^```$")
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	dropped = regexp.MustCompile(`[^\pL\pN_ -]`)
)

// anchor returns the fragment by which GitHub links to a heading.
func anchor(heading string) string {
	return strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(heading), ""), " ", "-")
}

// anchors returns the fragments of all headings of a text.
func anchors(text string) []string {
	var found []string
	for _, h := range heading.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		found = append(found, anchor(h[2]))
	}
	return found
}

// TestLinks checks that each link within the module leads to a file, and to a
// heading of it.
func TestLinks(t *testing.T) {
	texts := all(t)
	for name, text := range texts {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			path, fragment, _ := strings.Cut(m[1], "#")
			if strings.Contains(path, ":") {
				continue
			}
			to := name
			if path != "" {
				to = filepath.Join(filepath.Dir(name), path)
			}
			if _, err := os.Stat(root + to); err != nil {
				t.Errorf("%s: link to %s: %v", name, m[1], err)
			} else if fragment != "" && !slices.Contains(anchors(texts[to]), fragment) {
				t.Errorf("%s: link to %s: no such heading", name, m[1])
			}
		}
	}
}

// page matches a line of RATIONALE.md that leads to one of its pages.
var page = regexp.MustCompile(`(?m)^- \[[^\]]+\]\((docs/why/\w[\w-]*\.md)\)$`)

// TestRationaleContents checks that RATIONALE.md lists all headings of its pages in
// order, and that each section answers a question.
func TestRationaleContents(t *testing.T) {
	texts := all(t)
	text := texts["RATIONALE.md"]
	contents, pages := "", 0
	for _, m := range page.FindAllStringSubmatch(text, -1) {
		pages++
		for _, h := range heading.FindAllStringSubmatch(fence.ReplaceAllString(texts[m[1]], ""), -1) {
			switch h[1] {
			case "#":
				contents += "- [" + h[2] + "](" + m[1] + ")\n"
			case "##":
				contents += "  - [" + h[2] + "](" + m[1] + "#" + anchor(h[2]) + ")\n"
				if !strings.HasPrefix(h[2], "Why ") {
					t.Errorf("%s: heading %q, want one that begins with Why", m[1], h[2])
				}
			}
		}
	}
	if files, err := filepath.Glob(root + "docs/why/*.md"); err != nil || pages == 0 || len(files) != pages {
		t.Errorf("RATIONALE.md lists %d pages of the %d in docs/why (%v)", pages, len(files), err)
	}
	first := strings.Index(text, "\n- [") + 1
	if d := cmp.Diff(contents, text[first:]); d != "" {
		t.Errorf("contents of RATIONALE.md (-headings +contents):\n%s", d)
	}
}

// inCode matches a path in the text, optionally followed by the name of a
// declaration.
var inCode = regexp.MustCompile("`((?:[a-z_][\\w-]*/)+[\\w.-]*?)(?:\\.[A-Z]\\w*)?`")

// TestArchitecturePaths checks that the files and packages of ARCHITECTURE.md and docs/rooms.md
// exist, and that the former stays two pages.
func TestArchitecturePaths(t *testing.T) {
	texts := all(t)
	if n := strings.Count(texts["ARCHITECTURE.md"], "\n"); n > 150 {
		t.Errorf("ARCHITECTURE.md has %d lines, want 150 at most", n)
	}
	paths := inCode.FindAllStringSubmatch(texts["ARCHITECTURE.md"]+texts["docs/rooms.md"], -1)
	if len(paths) < 50 {
		t.Fatalf("found %d paths, want most of them", len(paths))
	}
	for _, m := range paths {
		first, _, _ := strings.Cut(m[1], "/")
		if _, err := os.Stat(root + first); err != nil {
			continue // a package of another module
		}
		if _, err := os.Stat(root + m[1]); err != nil {
			t.Errorf("ARCHITECTURE.md or docs/rooms.md: %v", err)
		}
	}
}
