package supply_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

// maxGraph is the number of modules that the go command knows of a library that uses provider
// and providertest: docs/why/programs.md says which.
const maxGraph = 40

// library is a library that declares a probe and tests what it fires.
var library = map[string]string{
	"cache.go": `package cache

import "github.com/go-usdt/usdt/provider"

var (
	cache = provider.New("example_cache", nil)
	get   = provider.NewProbe2[string, bool](cache, "get_done", "key", "hit")
)

func Get(key string) { get.Fire(key, true) }
`,
	"cache_test.go": `package cache

import (
	"testing"

	"github.com/go-usdt/usdt/provider/providertest"
)

func TestGet(t *testing.T) {
	rec := providertest.Record(t, cache)
	Get("a")
	if got := rec.Own("get_done"); len(got) != 1 || got[0].Args[0].Value != "a" || got[0].Args[1].Value != true {
		t.Errorf("%+v", got)
	}
	providertest.Check(t)
}
`,
}

// TestLibrary makes a library that has probes and tests of them, from nothing: it requires, and
// vendors, golang.org/x/sys and nothing else beside this module.
func TestLibrary(t *testing.T) {
	needs.Tools(t, "go")
	dir := t.TempDir()
	here, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	own := strings.TrimSuffix(module, "/")
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module example.com/cache\n\ngo 1.26.0\n\nrequire "+own+" v1.0.0\n\nreplace "+own+" => "+here+"\n")
	for name, text := range library {
		write(name, text)
	}
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("go %q: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	run("mod", "tidy")
	graph := strings.Fields(run("list", "-m", "-f", "{{.Path}}", "all"))
	if len(graph) > maxGraph {
		t.Errorf("its module graph has %d modules, want at most %d: %q", len(graph), maxGraph, graph)
	}
	run("mod", "vendor")
	run("test", ".")
	var vendored []string
	list, err := os.ReadFile(filepath.Join(dir, "vendor/modules.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(list)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "#" || len(f) > 3 && f[0] == "#" && f[3] == "=>" {
			vendored = append(vendored, f[1])
		}
	}
	if d := cmp.Diff([]string{own, "golang.org/x/sys"}, vendored); d != "" {
		t.Errorf("modules required (-want +got):\n%s", d)
	}
	var bytes int64
	err = filepath.WalkDir(filepath.Join(dir, "vendor", own), func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		bytes += info.Size()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if bytes > 600_000 {
		t.Errorf("it vendors %d bytes of this module, want at most 600,000", bytes)
	}
	t.Logf("%d modules in the graph, %d vendored, %d bytes of this one", len(graph), len(vendored), bytes)
}

// TestLibraryVersions has a program use two versions of a library whose constructors declare
// the same probe with other arguments, a hundred times each, in parallel tests that run three
// times with the race detector: no event is lost, and nothing is reported.
func TestLibraryVersions(t *testing.T) {
	needs.Tools(t, "go", "gcc")
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/versions")); err != nil {
		t.Fatal(err)
	}
	here, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"mod", "edit", "-replace", strings.TrimSuffix(module, "/") + "=" + here},
		{"mod", "tidy"},
		{"test", "-race", "-vet=off", "-count=3", "-parallel=8", "."},
	} {
		cmd := exec.Command("go", args...)
		cmd.Dir = filepath.Join(dir, "app")
		cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %q: %v\n%s", args, err, out)
		}
	}
}
