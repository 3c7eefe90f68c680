package supply_test

import (
	"os"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/go-usdt/usdt/"

// TestLayers holds ARCHITECTURE's picture: who must not depend on whom, so that
// programs contain only what they use.
func TestLayers(t *testing.T) {
	for _, pkg := range []string{"notes", "elfgen"} {
		if deps := list(t, "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "./"+pkg); !slices.Equal(deps, []string{module + pkg}) {
			t.Errorf("%s depends on %q, want the standard library only", pkg, deps)
		}
	}
	for pkg, not := range map[string][]string{
		"provider": {"github.com/cilium/ebpf", "github.com/cilium/ebpf/link", "github.com/spf13/cobra", module + "reader", module + "attach", module + "internal/needs"},
		"reader":   {"github.com/cilium/ebpf", "github.com/cilium/ebpf/link", "github.com/spf13/cobra", module + "provider", module + "attach", module + "internal/needs"},
		"attach":   {"github.com/spf13/cobra", module + "provider", module + "internal/needs"},
	} {
		deps := list(t, "-deps", "./"+pkg)
		for _, dep := range not {
			if slices.Contains(deps, dep) {
				t.Errorf("%s depends on %s", pkg, strings.TrimPrefix(dep, module))
			}
		}
	}
}

// TestArchitectureNamesAll holds that a newcomer finds every package there.
func TestArchitectureNamesAll(t *testing.T) {
	text, err := os.ReadFile("../../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() && !strings.Contains(string(text), "internal/"+e.Name()) {
			t.Errorf("ARCHITECTURE.md does not name internal/%s", e.Name())
		}
	}
}
