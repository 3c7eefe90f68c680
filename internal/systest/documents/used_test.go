package documents_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// called are methods that packages of the standard library call, by no name of a test.
var called = map[string]bool{"Unwrap": true, "MarshalJSON": true, "UnmarshalJSON": true, "MarshalText": true}

// TestExportedUsed checks that every exported function, method, field, constant and
// variable of a public package is used in an example or a test of that package, by its
// name, and every type, by its name or by something of it.
func TestExportedUsed(t *testing.T) {
	for _, dir := range public {
		used := map[string]bool{}
		for _, f := range parsedFiles(t, dir, true) {
			ast.Inspect(f, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok {
					used[id.Name] = true
				}
				return true
			})
		}
		types, all := map[string]bool{}, []string(nil)
		for _, f := range parsedFiles(t, dir, false) {
			all = append(all, exported(f, types)...)
		}
		for _, name := range all {
			if of, last, ok := strings.Cut(name, "."); ok && used[last] {
				used[of] = true
			}
		}
		for _, name := range all {
			last := name[strings.LastIndexByte(name, '.')+1:]
			if !used[last] && !called[last] && !types[name] || types[name] && !used[name] {
				t.Errorf("%s: no example and no test of the package uses %s", dir, name)
			}
		}
	}
}

// parsedFiles parses the tests of a directory, or the other files.
func parsedFiles(t *testing.T, dir string, tests bool) (files []*ast.File) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") != tests {
			continue
		}
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return files
}

// exported returns the exported identifiers that a file declares, and which are types:
// methods, fields and constants as Type.Name, where Type is exported.
func exported(f *ast.File, types map[string]bool) (names []string) {
	add := func(prefix string, id *ast.Ident) {
		if id.IsExported() {
			names = append(names, prefix+id.Name)
		}
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			prefix := ""
			if d.Recv != nil {
				if prefix = receiver(d.Recv.List[0].Type); !ast.IsExported(prefix) {
					continue
				}
				prefix += "."
			}
			add(prefix, d.Name)
		case *ast.GenDecl:
			of := "" // the type of constants
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.ValueSpec:
					if id, ok := s.Type.(*ast.Ident); ok && id.IsExported() {
						of = id.Name + "."
					} else if len(s.Values) > 0 {
						of = ""
					}
					for _, id := range s.Names {
						add(of, id)
					}
				case *ast.TypeSpec:
					add("", s.Name)
					types[s.Name.Name] = true
					st, ok := s.Type.(*ast.StructType)
					if !ok || !s.Name.IsExported() {
						continue
					}
					for _, field := range st.Fields.List {
						for _, id := range field.Names {
							add(s.Name.Name+".", id)
						}
					}
				}
			}
		}
	}
	return names
}

// receiver returns the name of a receiver's type.
func receiver(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return receiver(t.X)
	case *ast.IndexExpr:
		return receiver(t.X)
	case *ast.IndexListExpr:
		return receiver(t.X)
	case *ast.Ident:
		return t.Name
	}
	return ""
}
