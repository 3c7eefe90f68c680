package supply_test

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// port checks the types of packages as they are built for a system and architecture. It compiles
// nothing, not the standard library either, which takes forty seconds of a processor.
type port struct {
	build.Context
	modules  map[string]string // where the other modules are, by their paths
	files    *token.FileSet
	standard types.Importer
	packages map[string]*types.Package
}

// newPort returns the port for a system and architecture, windows/amd64. The caller restores
// build.Default, by which the standard library is imported.
func newPort(host build.Context, pair string, modules map[string]string) *port {
	p := &port{Context: host, modules: modules, packages: map[string]*types.Package{}}
	p.GOOS, p.GOARCH, _ = strings.Cut(pair, "/")
	p.CgoEnabled, p.ToolTags = false, nil // they belong to the host
	return p
}

// shareStandard makes p import the standard library of another port, which may be p.
func (p *port) shareStandard(of *port) {
	build.Default = of.Context
	if of.standard == nil {
		of.files = token.NewFileSet()
		of.standard = importer.ForCompiler(of.files, "source", nil)
	}
	p.files, p.standard = of.files, of.standard
}

// modulesFor returns where the modules are that have packages which others import, as they
// are built for a system, without this module.
func modulesFor(t *testing.T, goos string, packages ...string) map[string]string {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-deps", "-f", "{{with .Module}}{{.Path}}\t{{.Dir}}{{end}}"}, packages...)...)
	cmd.Dir = "../../.."
	cmd.Env = append(os.Environ(), "GOOS="+goos, "CGO_ENABLED=0")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v", cmd, err)
	}
	modules := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if path, dir, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok && path+"/" != module {
			modules[path] = dir
		}
	}
	return modules
}

// dir returns where a package is that is not the standard library's.
func (p *port) dir(path string) (dir string, ok bool) {
	if rest, ok := strings.CutPrefix(path, module); ok {
		return filepath.Join("../../..", rest), true
	}
	for parent := path; parent != "."; parent = filepath.Dir(parent) {
		if dir, ok := p.modules[parent]; ok {
			return filepath.Join(dir, strings.TrimPrefix(path, parent)), true
		}
	}
	return "", false
}

// sources adds to all the packages that path is or imports, with their files if they are this
// module's.
func (p *port) sources(path string, all map[string][]string) error {
	dir, ok := p.dir(path)
	if _, known := all[path]; known || !ok {
		return nil
	}
	pkg, err := p.ImportDir(dir, 0)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	all[path] = nil
	if strings.HasPrefix(path, module) {
		all[path] = pkg.GoFiles
	}
	for _, next := range pkg.Imports {
		if err := p.sources(next, all); err != nil {
			return err
		}
	}
	return nil
}

// Import implements types.Importer.
func (p *port) Import(path string) (*types.Package, error) {
	dir, ok := p.dir(path)
	if !ok {
		return p.standard.Import(path)
	}
	if pkg := p.packages[path]; pkg != nil {
		return pkg, nil
	}
	found, err := p.ImportDir(dir, 0)
	if err != nil {
		return nil, err
	}
	var files []*ast.File
	for _, name := range found.GoFiles {
		f, err := parser.ParseFile(p.files, filepath.Join(dir, name), nil, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			return nil, err
		}
		if name := bodiless(f); name != "" && len(found.SFiles) == 0 {
			return nil, fmt.Errorf("%s: function %s has no body", path, name)
		}
		files = append(files, f)
	}
	conf := types.Config{Importer: p, Sizes: types.SizesFor("gc", p.GOARCH), IgnoreFuncBodies: !strings.HasPrefix(path, module)}
	pkg, err := conf.Check(path, p.files, files, nil)
	if err != nil {
		return nil, err
	}
	p.packages[path] = pkg
	return pkg, nil
}

// bodiless returns the name of a function that has no body, as only those may have that are
// written in assembly or linked to others by name. Package types takes each for one of these.
func bodiless(f *ast.File) string {
	linked := map[string]bool{}
	for _, group := range f.Comments {
		for _, c := range group.List {
			if field := strings.Fields(c.Text); len(field) > 1 && field[0] == "//go:linkname" {
				linked[field[1]] = true
			}
		}
	}
	for _, d := range f.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body == nil && !linked[f.Name.Name] {
			return f.Name.Name
		}
	}
	return ""
}

// TestBodiless checks that functions of other ports that lack their body are found.
func TestBodiless(t *testing.T) {
	for source, want := range map[string]string{
		"package p; func f() {}":                           "",
		"package p; func f() {}; func (T) g(); type T int": "g",
		"package p\n\n//go:linkname f other.f\nfunc f()\n": "",
		"package p\n\n//go:linkname g other.f\nfunc f()\n": "f",
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "p.go", source, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if got := bodiless(f); got != want {
			t.Errorf("%q: %q has no body, want %q", source, got, want)
		}
	}
}
