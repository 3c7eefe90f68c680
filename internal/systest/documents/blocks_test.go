package documents_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// block matches a fenced block of a guide, and the line above it, which says
// where the block is from.
var block = regexp.MustCompile("(?m)^(.*)\n```(\\w*)\n((?:.*\n)*?)```$")

// from matches the name of the file from which a block is taken.
var from = regexp.MustCompile(`^<!-- from (\S+) -->$`)

// lines returns the lines of a text without the indentation that all of them have.
func lines(text string) []string {
	all := strings.Split(strings.TrimRight(text, "\n"), "\n")
	indentation := -1
	for _, l := range all {
		if trimmed := strings.TrimLeft(l, "\t"); trimmed != "" && (indentation < 0 || len(l)-len(trimmed) < indentation) {
			indentation = len(l) - len(trimmed)
		}
	}
	for i, l := range all {
		all[i] = l[min(len(l), max(indentation, 0)):]
	}
	return all
}

// contains reports whether the lines of part follow each other in whole, at any
// indentation.
func contains(whole, part []string) bool {
	for i := range len(whole) - len(part) + 1 {
		if strings.Join(lines(strings.Join(whole[i:i+len(part)], "\n")), "\n") == strings.Join(part, "\n") {
			return true
		}
	}
	return false
}

// run are the pages whose commands the tests of package targets run, and the pages that show
// how benchmarks are run.
var run = []string{"tracing.md", "unprivileged.md", "flight-recorder.md", "recipes.md", "costs.md"}

// TestGuideBlocks checks that each block of the guides occurs in a file that
// tests run: an example, or a page of commands. A line "…" stands for lines that are left
// out.
func TestGuideBlocks(t *testing.T) {
	guides, err := filepath.Glob(root + "docs/*.md")
	if err != nil || len(guides) == 0 {
		t.Fatalf("no guides: %v", err)
	}
	for _, guide := range guides {
		text, err := os.ReadFile(guide)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(guide)
		if slices.Contains(run, name) {
			continue
		}
		blocks := block.FindAllStringSubmatch(string(text), -1)
		if fences := strings.Count("\n"+string(text), "\n```"); fences != 2*len(blocks) {
			t.Errorf("%s: %d fences, %d blocks", name, fences, len(blocks))
		}
		for _, b := range blocks {
			first, _, _ := strings.Cut(b[3], "\n")
			m := from.FindStringSubmatch(b[1])
			if m == nil {
				t.Errorf("%s: above the block of %q stands %q, want <!-- from FILE -->", name, first, b[1])
				continue
			}
			if tested := strings.HasPrefix(m[1], "examples/") || strings.HasSuffix(m[1], "_test.go") ||
				strings.Contains(m[1], "/testdata/") || slices.Contains(run, strings.TrimPrefix(m[1], "docs/")); !tested {
				t.Errorf("%s: %s is no file that tests run", name, m[1])
			}
			source, err := os.ReadFile(root + m[1])
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			whole := strings.Split(string(source), "\n")
			for _, part := range regexp.MustCompile(`(?m)^\s*…\n`).Split(b[3], -1) {
				if !contains(whole, lines(part)) {
					t.Errorf("%s: not in %s:\n%s", name, m[1], part)
				}
			}
		}
	}
}
