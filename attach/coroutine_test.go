package attach_test

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestCoroutineReturns looks for the returns of functions that coroutines leave, and asks for
// those of the C library's functions for them.
func TestCoroutineReturns(t *testing.T) {
	path := build(t, "coroutine.c", "gcc", "-O1")
	for _, selector := range []string{"uretprobe:" + path + ":yield_to_main", "uretprobe:" + path + ":step"} {
		checkAtRET(t, selector)
	}
	if !testing.Short() { // who compiles for emulated machines has no library of theirs
		checkLinkedSwitch(t)
	}
	p := start(t, exec.Command(build(t, "instructions.c", "gcc", "-O1")))
	p.Do("") // now libc is mapped
	s := open(t, "uretprobe:libc.so.6:*context*", &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
	checked := 0
	for _, site := range s.Plan() {
		switch name := site.Probe.Target.Symbols[0]; strings.TrimLeft(name, "_") {
		case "getcontext", "setcontext", "swapcontext", "start_context":
			checked++
			if site.Attached || !errors.Is(site.Reason, attach.ErrUnsafe) {
				t.Errorf("%s: attached %t, reason %v", name, site.Attached, site.Reason)
			}
		case "makecontext":
			if !site.Attached {
				t.Errorf("%s: %v", name, site.Reason)
			}
		}
	}
	if checked < 3 {
		t.Errorf("%d functions of the C library were found", checked)
	}
}

// checkLinkedSwitch asks for the return of a function of a program that is linked with a
// library which switches stacks.
func checkLinkedSwitch(t *testing.T) {
	t.Helper()
	needs.C(t)
	dir := t.TempDir()
	switches, program := filepath.Join(dir, "libfibre.so"), filepath.Join(dir, "fibre")
	needs.Run(t, "gcc", "-O1", "-shared", "-fPIC", "-DLIBRARY", "-Wl,-soname,libfibre.so", "-o", switches, "testdata/fibre.c")
	needs.Run(t, "gcc", "-O1", "-o", program, "testdata/fibre.c", "-L"+dir, "-Wl,-rpath,$ORIGIN", "-lfibre")
	checkAtRET(t, "uretprobe:"+program+":handle")
}

// checkAtRET checks that probes at return instructions take the place of a return probe.
func checkAtRET(t *testing.T, selector string) {
	t.Helper()
	plan, err := attach.Find(t.Context(), []string{selector}, nil)
	if err != nil || len(plan) == 0 || plan[0].Reason != nil || !plan[0].Probe.AtRET {
		t.Errorf("%s: %+v, error %v, want return instructions, since stacks are switched", selector, plan, err)
	}
}
