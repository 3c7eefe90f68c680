package documents_test

import (
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// mostFiles is how many files of code a change may need that is made by ARCHITECTURE's table.
const mostFiles = 5

var (
	inTicks  = regexp.MustCompile("`([^` ]+)`")
	fileName = regexp.MustCompile(`^[\w/.-]+\.(?:go|s|js|html|css|md|txt)$`)
	newFile  = regexp.MustCompile(`\b(?:an? (?:assembly )?file|a package|a module)\b`)
	example  = regexp.MustCompile("(?:beside|, as) (?:`[^`]+`(?:, | and )?)+")
)

// rows returns the changes of ARCHITECTURE's table, and what to edit for each.
func rows(t *testing.T) (all [][2]string) {
	_, table, found := strings.Cut(architecture(t), "\n## To change X, edit Y\n")
	if !found {
		t.Fatal("ARCHITECTURE.md has no table of changes")
	}
	for line := range strings.Lines(table) {
		cells := strings.SplitN(strings.TrimSuffix(strings.TrimSpace(line), " |"), " | ", 2)
		if change, ok := strings.CutPrefix(cells[0], "| "); ok && len(cells) == 2 && cells[1] != "edit" {
			all = append(all, [2]string{change, cells[1]})
		}
	}
	return all
}

func architecture(t *testing.T) string { return all(t)["ARCHITECTURE.md"] }

// TestRows checks that the files exist which ARCHITECTURE's table names, in the directory named
// before them if they have none, and that no change needs more than five files of code.
func TestRows(t *testing.T) {
	all := rows(t)
	if len(all) < 30 {
		t.Fatalf("the table has %d rows", len(all))
	}
	for _, row := range all {
		dir := ""
		for _, m := range inTicks.FindAllStringSubmatch(row[1], -1) {
			name := m[1]
			if !fileName.MatchString(name) {
				if isThere(name) {
					dir = name
				}
				continue
			}
			at := name
			if !strings.Contains(name, "/") {
				at = path.Join(dir, name)
			}
			dir = path.Dir(at)
			if !isThere(at) {
				t.Errorf("%s: there is no %s", row[0], at)
			}
		}
		if n := files(row[1]); n > mostFiles {
			t.Errorf("%s: %d files, want at most %d", row[0], n, mostFiles)
		}
	}
}

func isThere(name string) bool {
	_, err := os.Stat(root + name)
	return err == nil
}

// files counts the files of code that a row names, old ones and new ones.
func files(row string) int {
	row = example.ReplaceAllString(row, "")
	var names []string
	for _, m := range inTicks.FindAllStringSubmatch(row, -1) {
		name := m[1]
		code := fileName.MatchString(name) && !strings.HasSuffix(name, ".md") && !strings.HasSuffix(name, ".txt") && !strings.HasSuffix(name, "_test.go")
		if code && !strings.Contains(name, "systest/") && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return len(names) + len(newFile.FindAllString(row, -1)) + 2*strings.Count(row, "two assembly files")
}

// TestFilesOfRows counts the files of rows.
func TestFilesOfRows(t *testing.T) {
	for row, want := range map[string]int{
		"`a/b.go`, `c.go` and `a/b.go`; its test: `d_test.go`":                2,
		"a file in `a` beside `b.go` and `c.go`, and a line of `d` in `e.go`": 2,
		"two assembly files beside `a.s` and `b.s`, FORMAT.md, `docs/x.md`":   2,
	} {
		if got := files(row); got != want {
			t.Errorf("%s: %d files, want %d", row, got, want)
		}
	}
}
