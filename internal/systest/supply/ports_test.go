package supply_test

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

const unix = "golang.org/x/sys/"

// port checks the types of packages as they are built for a system and architecture.
type port struct {
	build.Context
	unix     string // where golang.org/x/sys is
	files    *token.FileSet
	standard types.Importer
	packages map[string]*types.Package
}

// dir returns where a package is that is not the standard library's.
func (p *port) dir(path string) (dir string, ok bool) {
	if rest, ok := strings.CutPrefix(path, module); ok {
		return filepath.Join("../../..", rest), true
	}
	rest, ok := strings.CutPrefix(path, unix)
	return filepath.Join(p.unix, rest), ok
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
		f, err := parser.ParseFile(p.files, filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	conf := types.Config{Importer: p, Sizes: types.SizesFor("gc", p.GOARCH), IgnoreFuncBodies: strings.HasPrefix(path, unix)}
	pkg, err := conf.Check(path, p.files, files, nil)
	if err != nil {
		return nil, err
	}
	p.packages[path] = pkg
	return pkg, nil
}

// TestPorts checks that programs that declare probes, and tests of them, can be built for
// every system and architecture that Go knows: once for each kind of
// standard library, choice of this module's files and size of words.
func TestPorts(t *testing.T) {
	needs.Tools(t, "go")
	list, err := exec.Command("go", "tool", "dist", "list").Output()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", strings.TrimSuffix(unix, "/")).Output()
	if err != nil {
		t.Fatal(err)
	}
	host := build.Default // by which the standard library is imported
	defer func() { build.Default = host }()
	checked := map[string]string{}
	libraries := map[string]*port{} // the first port with each, which reads it
	for _, pair := range strings.Fields(string(list)) {
		p := &port{Context: host, unix: strings.TrimSpace(string(dir)), packages: map[string]*types.Package{}}
		p.GOOS, p.GOARCH, _ = strings.Cut(pair, "/")
		p.CgoEnabled, p.ToolTags = false, nil // which are the host's
		all := map[string][]string{}
		if err := p.sources(module+"provider/providertest", all); err != nil {
			t.Errorf("%s: %v", pair, err)
			continue
		}
		library := p.GOOS // whose packages syscall and os are like no other's
		if !slices.Contains([]string{"plan9", "js", "wasip1", "windows"}, library) {
			library = "unix"
		}
		library += fmt.Sprint(types.SizesFor("gc", p.GOARCH).Sizeof(types.Typ[types.Int]))
		key := fmt.Sprint(library, all)
		if checked[key] != "" {
			continue
		}
		checked[key] = pair
		if first := libraries[library]; first != nil {
			p.files, p.standard, build.Default = first.files, first.standard, first.Context
		} else {
			libraries[library], build.Default = p, p.Context
			p.files = token.NewFileSet()
			p.standard = importer.ForCompiler(p.files, "source", nil)
		}
		if _, err := p.Import(module + "provider/providertest"); err != nil {
			t.Errorf("%s: %v", pair, err)
		}
	}
	if len(checked) < 6 {
		t.Errorf("only %d choices of files: %v", len(checked), checked)
	}
	t.Logf("%d checked", len(checked))
}
