package supply_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

// contrib are the modules in contrib, each with the modules whose packages its own
// imports beside provider.
var contrib = map[string][]string{
	"grpc":    {"google.golang.org/grpc"},
	"nethttp": nil,
	"otel":    {"go.opentelemetry.io/otel/sdk", "go.opentelemetry.io/otel/trace"},
	"slog":    nil,
	"sql":     nil,
}

// listIn returns the lines that go list prints in a directory.
func listIn(t *testing.T, dir string, args ...string) []string {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list"}, args...)...)
	cmd.Dir = dir
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list %q in %s: %v", args, dir, err)
	}
	return strings.Fields(string(out))
}

// TestContrib checks what the modules in contrib import: provider and what they wrap.
func TestContrib(t *testing.T) {
	dirs, err := filepath.Glob(root + "/contrib/*")
	if err != nil || len(dirs) != len(contrib) {
		t.Errorf("found %q, %v; want those of the table", dirs, err)
	}
	for _, dir := range dirs {
		name := filepath.Base(dir)
		modules := listIn(t, dir, "-m", "-f", "{{.Path}}", "all")
		if modules[0] != module+"contrib/"+name {
			t.Errorf("%s: the module is %s", name, modules[0])
		}
		imports := listIn(t, dir, "-f", `{{range .Imports}}{{.}}{{"\n"}}{{end}}`, "./...")
		wrapped := modulesOf(imports, modules)
		want := map[string]bool{strings.TrimSuffix(module, "/"): true}
		for _, m := range contrib[name] {
			want[m] = true
		}
		if d := cmp.Diff(want, wrapped); d != "" {
			t.Errorf("%s: modules imported (-want +got):\n%s", name, d)
		}
		for _, i := range imports {
			if own, ok := strings.CutPrefix(i, module); ok && own != "provider" {
				t.Errorf("%s imports %s, want provider only", name, own)
			}
		}
	}
}

// TestContribOutside builds a service outside of the repository that imports all modules
// in contrib: what their own go.mod replaces has no effect there.
func TestContribOutside(t *testing.T) {
	dir := t.TempDir()
	here, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	mod, main := "module example.com/service\n\ngo 1.26.0\n", "package main\n\nimport (\n"
	use := func(path, in string) {
		mod += "\nrequire " + path + " v1.0.0\nreplace " + path + " => " + filepath.Join(here, in) + "\n"
	}
	use(strings.TrimSuffix(module, "/"), "")
	for _, name := range slices.Sorted(maps.Keys(contrib)) {
		use(module+"contrib/"+name, "contrib/"+name)
		main += "\t_ \"" + module + "contrib/" + name + "\"\n"
	}
	main += ")\n\nfunc main() {}\n"
	for name, text := range map[string]string{"go.mod": mod, "main.go": main} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	needs.Tools(t, "go")
	build := exec.Command("go", "build", "-mod=mod", "-o", os.DevNull, ".")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	// Versions of the repository that the modules ask for must exist elsewhere.
	for name := range contrib {
		text, err := os.ReadFile(filepath.Join(root, "contrib", name, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "usdt v0.0.0\n") {
			t.Errorf("%s requires a version that nobody can get", name)
		}
	}
}
