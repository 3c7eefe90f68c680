package collection_test

import (
	"errors"
	"os/exec"
	"testing"

	"github.com/cilium/ebpf"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/attach/collection"
	"github.com/go-usdt/usdt/internal/systest/bpf"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestFunctions attaches programs to functions, by links of either
// kind.
func TestFunctions(t *testing.T) {
	object := needs.CompileBPF(t, "testdata/functions.bpf.c")
	want := [6]uint64{2, 2, 2, 2 * 0xf8, 2 << 40, 4 << 40}
	spec := bpf.ReadSpec(t, object)
	if c, err := collection.New(t.Context(), spec, nil); errors.Is(err, ebpf.ErrNotSupported) {
		t.Log(err)
		delete(spec.Programs, "both")
		want[5] = 0
	} else if err == nil {
		c.Close()
	}
	for _, kind := range []attach.LinkKind{attach.AutoLink, attach.PerfLink} {
		t.Run(kind.String(), func(t *testing.T) {
			path := compile(t, "gcc", "-O2")
			p := start(t, exec.Command(path))
			c := newCollection(t, spec, &collection.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Cookie: 1 << 40, Link: kind})
			if err := c.Attach(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"called", "returned"} {
				plan := c.Plan(name)
				if len(plan) != 1 || !plan[0].Attached || plan[0].Probe.Name != "fire" {
					t.Errorf("plan of %s %+v, want fire alone", name, plan)
				}
			}
			attachProgram(t, c, "slept", path+":fire", nil)
			p.Do("")
			p.Do("")
			var got [6]uint64
			for i := range got {
				if err := c.Maps["seen"].Lookup(uint32(i), &got[i]); err != nil {
					t.Fatal(err)
				}
			}
			// The first argument points to a -8, the fourth is a 1.
			if got != want {
				t.Errorf("calls, fourth arguments, returns, first arguments, cookies, cookies of sessions: %v, want %v", got, want)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			p.Do("")
		})
	}
}
