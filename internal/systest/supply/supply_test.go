package supply_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// direct are the modules whose packages this module imports, and why.
var direct = map[string]string{
	"charm.land/bubbletea/v2":            "draws the screen of sdttrace top, and takes its keys",
	"github.com/cilium/ebpf":             "loads BPF programs, encodes and decodes BTF",
	"github.com/google/pprof":            "writes profiles",
	"github.com/ianlancetaylor/demangle": "names of C++ and Rust functions",
	"github.com/spf13/cobra":             "command lines",
	"github.com/spf13/pflag":             "their flags",
	"github.com/ulikunitz/xz":            "symbols in .gnu_debugdata",
	"golang.org/x/arch":                  "disassembles sites",
	"golang.org/x/sync":                  "groups of goroutines",
	"golang.org/x/sys":                   "system calls",
	"google.golang.org/protobuf":         "writes timelines, and reads them in tests",

	"github.com/chromedp/cdproto":     "tests only: what a browser is told",
	"github.com/chromedp/chromedp":    "tests only: drives a browser",
	"github.com/google/go-cmp":        "tests only",
	"github.com/rogpeppe/go-internal": "tests only",
}

// testOnly are the modules of direct that no program may contain.
var testOnly = []string{"github.com/chromedp/cdproto", "github.com/chromedp/chromedp", "github.com/google/go-cmp", "github.com/rogpeppe/go-internal"}

func list(t *testing.T, args ...string) []string {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list"}, args...)...)
	cmd.Dir = "../../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list %q: %v", args, err)
	}
	return strings.Fields(string(out))
}

// modulesOf returns the other modules that packages belong to.
func modulesOf(packages, modules []string) map[string]bool {
	out := map[string]bool{}
	for _, p := range packages {
		best := ""
		for _, m := range modules {
			if (p == m || strings.HasPrefix(p, m+"/")) && len(m) > len(best) {
				best = m
			}
		}
		if best != "" && best != modules[0] {
			out[best] = true
		}
	}
	return out
}

func TestDirectDependencies(t *testing.T) {
	modules := list(t, "-m", "-f", "{{.Path}}", "all") // the main module comes first
	const line = `{{"\n"}}`
	imports := list(t, "-f", "{{range .Imports}}{{.}}"+line+"{{end}}{{range .TestImports}}{{.}}"+line+"{{end}}{{range .XTestImports}}{{.}}"+line+"{{end}}", "./...")
	want := map[string]bool{}
	for m := range direct {
		want[m] = true
	}
	if d := cmp.Diff(want, modulesOf(imports, modules)); d != "" {
		t.Errorf("modules imported (-want +got):\n%s", d)
	}
	deps := modulesOf(list(t, "-deps", "./cmd/...", "./examples/...", "./attach", "./elfgen", "./event", "./notes", "./provider", "./reader"), modules)
	for _, m := range testOnly {
		if deps[m] {
			t.Errorf("%s is for tests only, but programs would contain it", m)
		}
	}
}
