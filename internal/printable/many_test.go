package printable

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestMany(t *testing.T) {
	for n, want := range map[uint64]string{0: "0 starts have", 1: "1 start has", 2: "2 starts have", 21: "21 starts have"} {
		if got := Many(n, "start has", "starts have"); got != want {
			t.Errorf("%d: got %q, want %q", n, got, want)
		}
	}
}

// plural finds a number in front of a word for several things, and what bounds such a number.
var (
	plural  = regexp.MustCompile(`%d (\w+ )?(events|sites|processes|pairs|starts|ends|probes|files|bytes|times|groups|stacks|others|lines|recordings|snapshots)\b`)
	bounded = regexp.MustCompile(`((more|fewer|longer) than( the)?|at most|and|to|process|within the) $`)
)

// TestPlurals finds texts of the commands in which one thing would be several: "1 events". Numbers that
// something is measured by are no numbers of what there is.
func TestPlurals(t *testing.T) {
	for _, dir := range []string{"../../cmd", "../top", "../sdtdump"} {
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				text, ok := n.(*ast.BasicLit)
				if !ok || text.Kind != token.STRING {
					return true
				}
				for _, at := range plural.FindAllStringIndex(text.Value, -1) {
					if !bounded.MatchString(text.Value[:at[0]]) {
						t.Errorf("%s: %s: write it with Many", files.Position(text.Pos()), text.Value)
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
