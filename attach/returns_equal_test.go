package attach_test

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// unfit are functions of libm that change how the program computes, or go round long.
var unfit = regexp.MustCompile(`^fe|^[jy]n|^__|l$|f64x$|f128$`)

// TestReturnsEqual counts and sums the results of many functions of a private libm twice at the
// same time: by return probes of the kernel, and at return instructions.
func TestReturnsEqual(t *testing.T) {
	if testing.Short() {
		t.Skip("short: calls hundreds of functions, of a library that emulated machines lack")
	}
	needs.C(t)
	program := build(t, "manycalls.c", "gcc", "-O1")
	out, err := exec.Command("gcc", "-print-file-name=libm.so.6").Output()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(strings.TrimSpace(string(out)))
	if err != nil {
		needs.Skip(t, "needs libm: %v", err)
	}
	library := filepath.Join(t.TempDir(), "libm-copy.so")
	if err := os.WriteFile(library, data, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := elf.Open(library)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	args, seen := []string{library}, map[string]bool{}
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC && s.Section != elf.SHN_UNDEF && !unfit.MatchString(s.Name) && !seen[s.Name] {
			args, seen[s.Name] = append(args, s.Name), true
		}
	}
	p := start(t, exec.Command(program, args...))
	want := p.Do("")
	results := func(pids []int) (*attach.Aggregate, map[string]bool) {
		a := openAggregate(t, []string{"uretprobe:" + library + ":*"}, attach.Sum("retval").By("probe"), &attach.Options{Target: attach.Target{PIDs: pids}, Args: []string{"retval:int32"}})
		traced := map[string]bool{}
		for _, s := range a.Plan() {
			if s.Attached && s.Probe.AtRET == (pids != nil) {
				traced["uretprobe:"+s.Probe.Provider+":"+s.Probe.Name] = true
			}
		}
		return a, traced
	}
	kernels, byKernel := results(nil)
	instructions, atRET := results([]int{p.PID()})
	if got := p.Do(""); got != want {
		t.Errorf("the program computes %s under its probes, and %s without", got, want)
	}
	read := func(a *attach.Aggregate) map[string][2]any {
		groups, err := a.Read()
		if err != nil {
			t.Fatal(err)
		}
		out := map[string][2]any{}
		for _, g := range groups {
			if name := g.By[0].Value.(string); byKernel[name] && atRET[name] {
				out[name] = [2]any{g.Count, g.Sum}
			}
		}
		return out
	}
	got, by := read(instructions), read(kernels)
	if d := cmp.Diff(by, got); d != "" {
		t.Errorf("counts and sums (-return probes +return instructions):\n%s", d)
	}
	t.Logf("%d functions were called, of %d traced both ways", len(got), len(atRET))
	if len(got) < 100 {
		t.Errorf("only %d functions were called", len(got))
	}
}
