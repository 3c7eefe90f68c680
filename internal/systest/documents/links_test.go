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
	for _, pattern := range []string{"*.md", "docs/*.md"} {
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

// TestRationaleContents checks that RATIONALE.md lists all of its headings in
// order, and that each section answers a question.
func TestRationaleContents(t *testing.T) {
	text := all(t)["RATIONALE.md"]
	contents := ""
	for _, h := range heading.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		switch h[1] {
		case "##":
			contents += "- [" + h[2] + "](#" + anchor(h[2]) + ")\n"
		case "###":
			contents += "  - [" + h[2] + "](#" + anchor(h[2]) + ")\n"
			if !strings.HasPrefix(h[2], "Why ") {
				t.Errorf("heading %q, want one that begins with Why", h[2])
			}
		}
	}
	first := strings.Index(text, "\n- [") + 1
	last := strings.Index(text, "\n\n## ") + 1
	if first == 0 || last < first {
		t.Fatal("RATIONALE.md has no contents")
	}
	if d := cmp.Diff(contents, text[first:last]); d != "" {
		t.Errorf("contents of RATIONALE.md (-headings +contents):\n%s", d)
	}
}

// inCode matches a path in the text, optionally followed by the name of a
// declaration.
var inCode = regexp.MustCompile("`((?:[a-z_][\\w-]*/)+[\\w.-]*?)(?:\\.[A-Z]\\w*)?`")

// TestArchitecturePaths checks that the files and packages of ARCHITECTURE.md exist.
func TestArchitecturePaths(t *testing.T) {
	paths := inCode.FindAllStringSubmatch(all(t)["ARCHITECTURE.md"], -1)
	if len(paths) < 50 {
		t.Fatalf("found %d paths, want most of them", len(paths))
	}
	for _, m := range paths {
		first, _, _ := strings.Cut(m[1], "/")
		if _, err := os.Stat(root + first); err != nil {
			continue // a package of another module
		}
		if _, err := os.Stat(root + m[1]); err != nil {
			t.Errorf("ARCHITECTURE.md: %v", err)
		}
	}
}
