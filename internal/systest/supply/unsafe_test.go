package supply_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// unsafeIn has the packages that may use unsafe for more than sizes, since they share memory
// with the kernel, with another process, or with the code of a stub; and how many of their
// files do. A number may become smaller. It becomes larger only if the memory cannot be
// reached by a function that is there.
var unsafeIn = map[string]int{
	"internal/stub":         4,  // words and blocks that assembly code and the kernel read
	"internal/sys":          4,  // system calls of which x/sys has none
	"internal/ring":         5,  // memory shared with another process
	"internal/tap":          1,  // argument blocks, handed to a listening test
	"provider":              14, // values become slots; slots are read for watchers of this user
	"provider/providertest": 2,  // the listening test

	"internal/kernel":         1, // the page of a ring buffer's reader
	"attach/internal/link":    1, // system calls of which cilium/ebpf has none
	"attach/internal/maplog":  1, // the ring of a perf event
	"attach/internal/overlay": 1, // the address that a program looks up
}

// TestUnsafe checks which files use unsafe, and that each function which makes pointers or
// slices by it has a comment, in front of it or within, as the place for what makes it safe.
func TestUnsafe(t *testing.T) {
	const root = "../../.."
	found := map[string]int{}
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "/testdata/") {
			return err
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		pkg, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil || !usesUnsafe(f) || testRoom(pkg) {
			return err
		}
		if found[pkg]++; found[pkg] > unsafeIn[pkg] {
			t.Errorf("%s uses unsafe, and %d files of %s may", path, unsafeIn[pkg], pkg)
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil && len(fn.Body.List) > 0 && usesUnsafe(fn) && !commented(f, fn) {
				t.Errorf("%s makes a pointer by unsafe, and no comment says what makes it safe", fset.Position(fn.Pos()))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for pkg, most := range unsafeIn {
		if found[pkg] < most {
			t.Errorf("%d files of %s use unsafe: the table says %d", found[pkg], pkg, most)
		}
	}
}

// usesUnsafe reports whether there is a pointer or slice of unsafe: more than sizes.
func usesUnsafe(in ast.Node) (uses bool) {
	ast.Inspect(in, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := s.X.(*ast.Ident); ok && x.Name == "unsafe" && s.Sel.Name != "Sizeof" && s.Sel.Name != "Offsetof" && s.Sel.Name != "Alignof" {
			uses = true
		}
		return true
	})
	return uses
}

// commented reports whether a comment is in front of a function, or within it.
func commented(f *ast.File, fn *ast.FuncDecl) bool {
	if fn.Doc != nil && !strings.HasPrefix(fn.Doc.Text(), "go:") && fn.Doc.Text() != "" {
		return true
	}
	for _, c := range f.Comments {
		if c.Pos() > fn.Pos() && c.End() < fn.End() {
			return true
		}
	}
	return false
}
