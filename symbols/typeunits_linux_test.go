package symbols_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/symbols"
)

// TestTypeUnits compiles a program twice, once with types in units of their own: in the file itself, in files of
// split units and in a package. Variables, arguments, results and types must be equal.
func TestTypeUnits(t *testing.T) {
	needs.Tools(t, "llvm-dwp")
	for _, compiler := range []string{"g++ -gdwarf-5", "g++ -gdwarf-4", "clang++ -gdwarf-5", "clang++ -gdwarf-4"} {
		command := append(strings.Fields(compiler), "-O1", "-fstandalone-debug")
		if command[0] == "g++" {
			command = command[:len(command)-1]
		}
		t.Run(compiler, func(t *testing.T) {
			whole := needs.Compile(t, "testdata/types.cc", command...)
			want := typesOf(t, whole)
			check := func(how, path string) {
				t.Helper()
				got := typesOf(t, path)
				for i := range want {
					if i >= len(got) || got[i] != want[i] {
						t.Errorf("%s: line %d of %d and %d:\ngot  %q\nwant %q", how, i, len(got), len(want), got[i:min(i+1, len(got))], want[i])
						break
					}
				}
			}
			command = append(command, "-fdebug-types-section")
			check("in the file", needs.Compile(t, "testdata/types.cc", command...))
			object := needs.Compile(t, "testdata/types.cc", append(command, "-gsplit-dwarf", "-c")...)
			path := filepath.Join(t.TempDir(), "types")
			needs.Run(t, "mv", object, path+".o")
			needs.Run(t, command[0], path+".o", "-o", path)
			check("in a file of split units", path)
			dwo, err := filepath.Glob(filepath.Join(filepath.Dir(object), "*.dwo"))
			if err != nil || len(dwo) != 1 {
				t.Fatalf("files %q, %v", dwo, err)
			}
			needs.Run(t, "llvm-dwp", dwo[0], "-o", path+".dwp")
			if err := os.Remove(dwo[0]); err != nil {
				t.Fatal(err)
			}
			check("in a package", path)
		})
	}
}

// typesOf returns what debugging information says about the variables and functions of testdata/types.cc.
func typesOf(t *testing.T, path string) (out []string) {
	t.Helper()
	c := symbols.OpenCode(path, true)
	defer c.Close()
	all, _, err := c.Sources(func(p string) bool { return strings.HasSuffix(p, "types.cc") }, func(int) bool { return true })
	if err != nil || len(all) != 1 {
		t.Fatalf("%s: %d sources, %v", path, len(all), err)
	}
	known := 0
	for _, s := range all[0].Statements {
		vars, err := c.Variables(s.Address)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%d %s:", s.Line, s.Func))
		for _, v := range vars {
			if v.Err == nil {
				known++
			}
			out = append(out, fmt.Sprintf("%+v", v))
		}
	}
	if known < 100 {
		t.Errorf("%s: %d variables are known", path, known)
	}
	for _, name := range []string{"Order", "shop::Order", "Tags", "Colour", "Node", "shop::detail::Node", "Address", "Nothing", "int"} {
		parts, _, found, err := c.Cast(0, symbols.Cast{Type: name, Name: "x", Pointer: true})
		out = append(out, fmt.Sprintf("%s %v %v %+v", name, found, err, parts))
	}
	if !slices.ContainsFunc(out, func(s string) bool { return strings.HasPrefix(s, "shop::detail::Node true") }) {
		t.Errorf("%s: the type in a namespace is missing", path)
	}
	return out
}
