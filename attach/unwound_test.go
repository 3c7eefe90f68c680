package attach_test

import (
	"errors"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestUnwoundCalls traces the returns of functions through which a stack is unwound, although their own
// files have nothing to clean up: threads end in the C library, and exceptions pass through a library
// of C. Their callers clean up nevertheless.
func TestUnwoundCalls(t *testing.T) {
	needs.C(t)
	if _, err := exec.LookPath("g++"); err != nil {
		needs.Skip(t, "needs g++: %v", err)
	}
	dir := t.TempDir()
	inner, outer, program := filepath.Join(dir, "libinner.so"), filepath.Join(dir, "libouter.so"), filepath.Join(dir, "unwound")
	// Neither calls another by a jump.
	c := []string{"-O1", "-fno-optimize-sibling-calls", "-shared", "-fPIC", "-x", "c"}
	needs.Run(t, "gcc", append(c, "-DINNER", "-o", inner, "testdata/unwound.cc")...)
	needs.Run(t, "gcc", append(c, "-DOUTER", "-Wl,-soname,libouter.so", "-o", outer, "testdata/unwound.cc", "-x", "none", inner)...)
	needs.Run(t, "g++", "-O1", "-o", program, "testdata/unwound.cc", "-pthread", outer, inner, "-Wl,-rpath,"+dir)
	const all = "1 1 1 1 1 free 1"
	for _, test := range []struct{ file, symbol string }{
		{"libc.so.6", "read"}, {"libc.so.6", "pthread_cond_wait"}, {"libc.so.6", "pthread_exit"}, {"libc.so.6", "fgets"},
		{inner, "takes"}, {inner, "inner"}, {outer, "outer"},
	} {
		t.Run(test.symbol, func(t *testing.T) {
			p := start(t, exec.Command(program))
			if got := p.Do(""); got != all {
				t.Fatalf("the program itself: %s", got)
			}
			target := attach.Target{PIDs: []int{p.PID()}}
			selector := "uretprobe:" + test.file + ":" + test.symbol
			plan, err := attach.Find(t.Context(), []string{selector}, &attach.FindOptions{Target: target})
			if err != nil || len(plan) == 0 {
				t.Fatalf("%v, error %v", plan, err)
			}
			refused := 0
			for _, site := range plan {
				switch {
				case site.Reason != nil:
					refused++
					if !errors.Is(site.Reason, attach.ErrUnsafe) {
						t.Errorf("at %#x: %v", site.Offset, site.Reason)
					}
				case !site.Probe.AtRET:
					t.Errorf("a return probe is at %#x", site.Offset)
				}
			}
			if test.symbol == "pthread_exit" && refused != len(plan) {
				t.Errorf("%d of %d sites of a function that never returns are refused", refused, len(plan))
			}
			if refused == len(plan) {
				return
			}
			open(t, selector, &attach.Options{Target: target})
			if got := p.Do(""); got != all {
				t.Errorf("the program under its probes: %s", got)
			}
			if test.file == "libc.so.6" {
				return // others run that file
			}
			kernelReturn(t, test.file, test.symbol, p.PID())
			p.Send("")
			if got, err := p.Next(); err == nil && got == all {
				t.Errorf("%s under a return probe: return instructions are not needed any more", got)
			}
		})
	}
}

// TestCallsThatAreNotUnwound has return probes in functions of the C library in programs that end no threads.
func TestCallsThatAreNotUnwound(t *testing.T) {
	p := start(t, exec.Command(build(t, "ticks.c", "gcc", "-O1")))
	p.Do("") // now libc is mapped
	plan, err := attach.Find(t.Context(), []string{"uretprobe:libc.so.6:fgets"}, &attach.FindOptions{Target: attach.Target{PIDs: []int{p.PID()}}})
	if err != nil || len(plan) != 1 || plan[0].Reason != nil || plan[0].Probe.AtRET {
		t.Errorf("%+v, error %v, want a return probe", plan, err)
	}
}
