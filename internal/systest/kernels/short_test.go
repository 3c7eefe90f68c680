package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestShortSkipsSaid checks that KERNELS.md names the tests that machines skip since they
// would take too long. The machines also find a missing name, half an hour later.
func TestShortSkipsSaid(t *testing.T) {
	text, err := os.ReadFile("../../../" + document)
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]bool{}
	for skip := range skipsIn(string(text)) {
		f := strings.Fields(skip) // the kernel, the package and the test
		test, _, _ := strings.Cut(f[2], "/")
		said[f[1]+" "+test] = true
	}
	found := 0
	for _, s := range suites {
		if s.Yama != "" {
			continue
		}
		for _, test := range shortSkips(t, "../../../"+s.Package) {
			if !runsSomewhere(s.Package, test) {
				continue
			}
			found++
			if !said[s.Package+" "+test] {
				t.Errorf("%s does not say that machines skip %s of %s: make test-kernels UPDATE=-update", document, test, s.Package)
			}
		}
	}
	if found < 20 {
		t.Errorf("found %d tests that machines skip, want those of all suites", found)
	}
}

// runsSomewhere says whether a machine's part of a package has a test.
func runsSomewhere(pkg, test string) bool {
	for _, k := range kernels {
		if k.few {
			continue
		}
		flag, pattern, _ := strings.Cut(k.part[pkg], "=")
		names, _, _ := strings.Cut(pattern, "|^Test.*$/")
		if names == "" || regexp.MustCompile(names).MatchString(test) == (flag == "-test.run") {
			return true
		}
	}
	return false
}

// shortSkips returns the tests of a directory that skip themselves with a reason that
// begins with "short: ".
func shortSkips(t *testing.T, dir string) []string {
	t.Helper()
	paths, err := filepath.Glob(dir + "/*_test.go")
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s has %d files of tests, error %v", dir, len(paths), err)
	}
	var tests []string
	for _, path := range paths {
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") && skipsShort(f) {
				tests = append(tests, f.Name.Name)
			}
		}
	}
	return tests
}

// skipsShort says whether a function has a call t.Skip("short: …").
func skipsShort(f *ast.FuncDecl) bool {
	found := false
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}
		s, ok := call.Fun.(*ast.SelectorExpr)
		reason, literal := call.Args[0].(*ast.BasicLit)
		if ok && literal && s.Sel.Name == "Skip" && strings.HasPrefix(reason.Value, `"short: `) {
			found = true
		}
		return true
	})
	return found
}
