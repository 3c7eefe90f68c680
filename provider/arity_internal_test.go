package provider

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"
)

// TestArity checks that there is a probe of each number of arguments up to maxArgs, for which
// what converts and copies them has room, with all that others have; and none of more.
func TestArity(t *testing.T) {
	if testing.Short() {
		t.Skip("short: it reads the package's source, which no kernel changes")
	}
	params := map[string]int{} // of types by their names, and of functions and methods
	f, err := parser.ParseFile(token.NewFileSet(), "probe.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if s, ok := s.(*ast.TypeSpec); ok {
					params[s.Name.Name] = s.TypeParams.NumFields()
				}
			}
		case *ast.FuncDecl:
			name, n := d.Name.Name, d.Type.Params.NumFields()
			if name == "FireFunc" {
				n = d.Type.Params.List[0].Type.(*ast.FuncType).Results.NumFields()
			}
			params[receiver(d)+name] = n
		}
	}
	for n := range 3 * maxArgs {
		name := "Probe" + strconv.Itoa(n)
		want := map[string]int{name: n, "New" + name: n + 2, name + ".Enabled": 0, name + ".Fire": n}
		if n > 0 {
			want[name+".FireFunc"] = n
		}
		for what, count := range want {
			got, ok := params[what]
			switch {
			case ok != (n <= maxArgs):
				t.Errorf("%s: there is one: %v, and maxArgs is %d", what, ok, maxArgs)
			case ok && got != count:
				t.Errorf("%s has %d parameters, want %d", what, got, count)
			}
		}
	}
}

// receiver returns the name of a method's type, with a dot; "" for a function.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	typ := d.Recv.List[0].Type
	if p, ok := typ.(*ast.StarExpr); ok {
		typ = p.X
	}
	switch x := typ.(type) {
	case *ast.IndexExpr:
		typ = x.X
	case *ast.IndexListExpr:
		typ = x.X
	}
	return typ.(*ast.Ident).Name + "."
}
