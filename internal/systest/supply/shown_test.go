package supply_test

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// root is the module's directory.
const root = "../../.."

// ways are functions and variables that show text without package printable, and the files that
// may name them: the boundaries behind which that package is.
var ways = map[string][]string{
	"os.Stdout":       {"cmd/sdttrace/main.go", "cmd/sdtdump/main.go", "attach/collection/usdt2go/main.go"}, // Run, run and main escape
	"os.Stderr":       {"cmd/sdttrace/main.go", "cmd/sdtdump/main.go", "attach/collection/usdt2go/main.go"},
	"fmt.Print":       nil,
	"fmt.Printf":      nil,
	"fmt.Println":     {"internal/gate/guardprocess.go"}, // to the process that started it
	"print":           nil,
	"println":         nil,
	"log":             {"cmd/sdttrace/internal/serve/server.go"}, // to io.Discard
	"slog":            nil,
	"json.Marshal":    {"internal/tracefile/writer.go", "cmd/sdttrace/internal/page/document.go"}, // a recording; the grammar of conditions
	"json.NewEncoder": nil,
	"http.Error":      nil,
}

// TestShown looks for ways by which the text of traced programs could be shown as it is.
func TestShown(t *testing.T) {
	seen := 0
	for _, dir := range []string{"attach", "event", "total", "reader", "symbols", "notes", "prototype", "cmd", "internal/sdtdump", "internal/top", "internal/gate", "internal/watch", "internal/fold", "internal/tracefile"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.Name() == "testdata" && d.IsDir() {
				return cmp.Or(err, fs.SkipDir)
			}
			if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
				seen++
				shown(t, path)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if seen < 300 {
		t.Errorf("only %d files were looked at", seen)
	}
}

// shown reports what a file shows by another way.
func shown(t *testing.T, path string) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	name, err := filepath.Rel(root, path)
	if err != nil {
		t.Fatal(err)
	}
	for _, use := range uses(file) {
		allowed, is := ways[use.name]
		for _, f := range allowed {
			is = is && f != name
		}
		if is {
			t.Errorf("%v: %s shows text that others wrote as it is: use package printable", set.Position(use.pos), use.name)
		}
	}
}

type use struct {
	name string
	pos  token.Pos
}

// uses returns what a file names, except where package printable has the text.
func uses(file *ast.File) (all []use) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if name := nameOf(n.Fun); name == "json.NewEncoder" && isPrintable(n.Args[0]) || name == "http.Error" && (isPrintable(n.Args[1]) || isLiteral(n.Args[1])) {
				return false
			}
			if id, ok := n.Fun.(*ast.Ident); ok && id.Obj == nil {
				all = append(all, use{id.Name, n.Pos()})
			}
		case *ast.SelectorExpr:
			all = append(all, use{nameOf(n), n.Pos()})
			if id, ok := n.X.(*ast.Ident); ok && id.Obj == nil {
				all = append(all, use{id.Name, n.Pos()})
			}
		}
		return true
	})
	return all
}

func nameOf(e ast.Expr) string {
	if sel, ok := e.(*ast.SelectorExpr); ok {
		if id, ok := sel.X.(*ast.Ident); ok {
			return id.Name + "." + sel.Sel.Name
		}
	}
	return ""
}

func isLiteral(e ast.Expr) bool {
	_, ok := e.(*ast.BasicLit)
	return ok
}

func isPrintable(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	return ok && strings.HasPrefix(nameOf(call.Fun), "printable.")
}

// TestShownFinds checks that TestShown would find other ways.
func TestShownFinds(t *testing.T) {
	for code, want := range map[string]bool{
		`fmt.Fprintln(os.Stderr, path)`:                               true,
		`println(path)`:                                               true,
		`log.Print(path)`:                                             true,
		`json.NewEncoder(w).Encode(v)`:                                true,
		`json.NewEncoder(printable.JSONWriter(w)).Encode(v)`:          false,
		`http.Error(w, err.Error(), 500)`:                             true,
		`http.Error(w, printable.String(err.Error()), 500)`:           false,
		`http.Error(w, "no", 500)`:                                    false,
		`fmt.Fprintf(stderr, "%s", path)`:                             false, // a writer that was handed on
		`b, _ := json.Marshal(v); w.Write(b)`:                         true,
		`b, _ := printable.MarshalShown(v); w.Write(b); a.println(b)`: false,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\nfunc f() { "+code+" }", 0)
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, use := range uses(file) {
			_, is := ways[use.name]
			found = found || is
		}
		if found != want {
			t.Errorf("%s: found is %t, want %t", code, found, want)
		}
	}
}
