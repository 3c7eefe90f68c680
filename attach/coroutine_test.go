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

// TestCoroutineReturns asks for the returns of functions that coroutines leave, and of
// the C library's functions for them.
func TestCoroutineReturns(t *testing.T) {
	path := build(t, "coroutine.c", "gcc", "-O1")
	for _, selector := range []string{"uretprobe:" + path + ":yield_to_main", "uretprobe:" + path + ":step"} {
		_, err := attach.Open(t.Context(), []string{selector}, nil)
		if !errors.Is(err, attach.ErrNoSite) || !strings.Contains(err.Error(), "switch stacks") {
			t.Errorf("%s: got %v, want that the object switches stacks", selector, err)
		}
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
	if _, err := attach.Open(t.Context(), []string{"uretprobe:" + program + ":handle"}, nil); !errors.Is(err, attach.ErrNoSite) || !strings.Contains(err.Error(), switches+" has, or imports, functions that switch stacks") {
		t.Errorf("a program that is linked with %s: got %v, want that the library switches stacks", switches, err)
	}
}
