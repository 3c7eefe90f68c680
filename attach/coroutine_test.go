package attach_test

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/attach"
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
