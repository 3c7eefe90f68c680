package supply_test

import (
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// skipConditions are what a test may skip itself for without package needs, which
// fails it in CI: how it is run, and the machine's architecture.
var skipConditions = []string{"testing.Short()", "runtime.GOARCH", `os.Getenv("SDTDUMP_DEBIAN")`, `os.Getenv("SYMBOLS_DEBIAN")`}

// TestSkips checks that tests which lack something skip themselves through package
// needs, so that none of them is skipped in CI.
func TestSkips(t *testing.T) {
	skips := 0
	err := filepath.WalkDir("../../..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") || strings.Contains(path, "/peers/") {
			return err // peers, a module of its own, has benchmarks only
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		text := func(n ast.Node) string {
			var b strings.Builder
			if err := printer.Fprint(&b, fset, n); err != nil {
				t.Fatal(err)
			}
			return b.String()
		}
		var above []ast.Node
		ast.Inspect(f, func(n ast.Node) bool {
			if n == nil {
				above = above[:len(above)-1]
				return true
			}
			above = append(above, n)
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			s, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || s.Sel.Name != "Skip" && s.Sel.Name != "Skipf" && s.Sel.Name != "SkipNow" || text(s.X) == "needs" {
				return true
			}
			skips++
			for _, n := range above {
				if branch, ok := n.(*ast.IfStmt); ok {
					for _, c := range skipConditions {
						if strings.Contains(text(branch.Cond), c) {
							return true
						}
					}
				}
			}
			t.Errorf("%v: skips for a reason that needs.Skip must know", fset.Position(call.Pos()))
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if skips < 10 {
		t.Errorf("found %d skips, want those of the whole module", skips)
	}
}
