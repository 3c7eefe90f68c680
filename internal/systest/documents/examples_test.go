package documents_test

import (
	"go/ast"
	"strings"
	"testing"
)

// shown are the packages that tools are built on. Each function of theirs is called in an example.
var shown = []string{"attach", "attach/argasm", "attach/collection", "event", "profile", "total"}

// TestFunctionsShown checks that every exported function of these packages is called in an example
// of its package, and that an example shows every exported type that has methods: one that is
// called after it, uses its name, or calls a function that returns it or a method of it.
func TestFunctionsShown(t *testing.T) {
	for _, dir := range shown {
		used := map[string]bool{}
		for _, f := range parsedFiles(t, dir, true) {
			for _, d := range f.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok || !strings.HasPrefix(fn.Name.Name, "Example") {
					continue
				}
				for _, word := range strings.Split(strings.TrimPrefix(fn.Name.Name, "Example"), "_") {
					used[word] = true
				}
				ast.Inspect(fn.Body, func(n ast.Node) bool {
					if id, ok := n.(*ast.Ident); ok {
						used[id.Name] = true
					}
					return true
				})
			}
		}
		for _, f := range parsedFiles(t, dir, false) {
			for _, d := range f.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok || !fn.Name.IsExported() {
					continue
				}
				if fn.Recv == nil && !used[fn.Name.Name] {
					t.Errorf("%s: no example calls %s", dir, fn.Name.Name)
				}
				if fn.Recv == nil && fn.Type.Results != nil && used[fn.Name.Name] {
					for _, result := range fn.Type.Results.List {
						used[receiver(result.Type)] = true
					}
				}
			}
		}
		for _, f := range parsedFiles(t, dir, false) {
			for _, d := range f.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil && fn.Name.IsExported() && used[fn.Name.Name] {
					used[receiver(fn.Recv.List[0].Type)] = true
				}
			}
		}
		for _, f := range parsedFiles(t, dir, false) {
			for _, d := range f.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok || fn.Recv == nil || !fn.Name.IsExported() {
					continue
				}
				if of := receiver(fn.Recv.List[0].Type); ast.IsExported(of) && !used[of] && !strings.HasSuffix(of, "Error") {
					used[of] = true // it is reported once
					t.Errorf("%s: no example shows %s", dir, of)
				}
			}
		}
	}
}
