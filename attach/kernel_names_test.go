package attach_test

import (
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestKernelNamesakes counts calls of functions that have one name: c_start begins the list of the machine's processors, and
// that of its consoles. An address counts one of them alone.
func TestKernelNamesakes(t *testing.T) {
	needs.Kprobes(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	counts := func(selector string, lists ...string) (calls map[string]uint64, sites int) {
		t.Helper()
		a, err := attach.OpenAggregate(t.Context(), []string{selector}, attach.Count().By("probe"), functionsOf(os.Getpid(), ""))
		if err != nil {
			needPrivileges(t, err)
			t.Fatal(err)
		}
		defer a.Close()
		for _, list := range lists {
			if _, err := os.ReadFile(list); err != nil {
				t.Fatal(err)
			}
		}
		groups, err := a.Read()
		if err != nil {
			t.Fatal(err)
		}
		calls = map[string]uint64{}
		for _, g := range groups {
			calls[g.By[0].Value.(string)] = g.Count
		}
		return calls, a.Plan().Attached()
	}
	const name, processors, consoles = "kprobe:vmlinux:c_start", "/proc/cpuinfo", "/proc/consoles"
	both, sites := counts(name, processors, consoles, consoles)
	if len(both) != 2 || sites < 2 {
		t.Fatalf("calls of %v at %d sites, want two functions", both, sites)
	}
	for of, calls := range both {
		if !strings.HasPrefix(of, name+"@0x") {
			t.Errorf("a function is called %s", of)
		}
		one, sites := counts(of, processors, consoles, consoles)
		if len(one) != 1 || one[of] != calls || sites != 1 {
			t.Errorf("%s: calls of %v at %d sites, want %d at one", of, one, sites, calls)
		}
	}
}
