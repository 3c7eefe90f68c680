package discover

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/attach/internal/process"
	"github.com/go-usdt/usdt/internal/selector"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestFunctionsForgotten checks that the counts for the error of the first look
// are not kept, and that later looks count nothing.
func TestFunctionsForgotten(t *testing.T) {
	d := New(parsed(t, "uprobe:/proc/self/exe:no such function"), &process.Set{})
	for look := range 3 {
		if _, err := d.More(t.Context()); err != nil {
			t.Fatal(err)
		}
		d.countFunctions("/another", 1)
		if n := len(d.functions); n != 0 {
			t.Errorf("look %d: functions of %d objects are kept", look, n)
		}
	}
}

// parsed returns the selectors.
func parsed(t *testing.T, selectors ...string) (all []selector.Selector) {
	t.Helper()
	for _, text := range selectors {
		s, err := selector.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}

// TestFunctionsUnwritten checks that functions whose symbols lack a word of the selector are not
// written out as sources have them, which costs four times as much as reading their symbols.
func TestFunctionsUnwritten(t *testing.T) {
	out, err := exec.Command("gcc", "-print-file-name=libstdc++.so.6").Output()
	if err != nil {
		needs.Skip(t, "needs gcc: %v", err)
	}
	path := strings.TrimSpace(string(out))
	for function, want := range map[string]int{"__cxa_throw": 1, "std::ios_base::Init::Init": 1, "*ios_base*Init*Init*": 2} {
		sel, err := selector.Parse("uprobe:" + path + ":" + function)
		if err != nil {
			t.Fatal(err)
		}
		allocated := testing.AllocsPerRun(1, func() {
			found, err := New([]selector.Selector{sel}, &process.Set{}).First(t.Context())
			if n := found.Len(); err != nil || n < want {
				t.Errorf("%s: %d sites, %v, want %d", function, n, err, want)
			}
		})
		if allocated > 50_000 {
			t.Errorf("%s: %v allocations", function, allocated)
		}
	}
}
