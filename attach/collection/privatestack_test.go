package collection_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/attach/collection"
	"github.com/go-usdt/usdt/internal/systest/bpf"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestStack checks which programs of a collection are kept from having
// a private stack, that they run, and that Plan says so.
func TestStack(t *testing.T) {
	bpf.NeedPrivateStacks(t, "../testdata/stack.bpf.c")
	object := needs.CompileBPF(t, "../testdata/stack.bpf.c")
	path := compile(t, "gcc", "-O2")
	p := start(t, exec.Command(path))
	remark := func(s *attach.Site) bool {
		return slices.ContainsFunc(s.Notes, func(note string) bool { return strings.Contains(note, "tail call") })
	}
	run := func(opts collection.Options, names ...string) (private, remarked map[string]bool) {
		t.Helper()
		spec := bpf.ReadSpec(t, object)
		delete(spec.Programs, "deeper")
		opts.Target.PIDs = []int{p.PID()}
		c := newCollection(t, spec, &opts)
		private, remarked = map[string]bool{}, map[string]bool{}
		for name, prog := range c.Programs {
			private[name] = bpf.HasPrivateStack(t, prog)
		}
		for _, name := range names {
			a := attachProgram(t, c, name, path+":args:bare", &collection.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
			plan := a.Plan()
			if plan.Attached() != 1 {
				t.Fatalf("%s: plan %+v", name, plan)
			}
			remarked[name] = remark(&plan[0])
		}
		p.Do("")
		for key := uint32(1); key <= 6; key++ {
			var n uint64
			if err := c.Maps["fired"].Lookup(key, &n); err != nil || n != 1 {
				t.Errorf("program that counts at %d has counted %d times (%v), want once", key, n, err)
			}
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		return private, remarked
	}
	attached := []string{"small", "large", "calls", "sleeps", "tails"}
	private, remarked := run(collection.Options{}, attached...)
	for name, has := range private {
		if want := name == "kernel"; has != want {
			t.Errorf("%s has a private stack: %v, want %v", name, has, want)
		}
	}
	for _, name := range attached {
		if want := name == "large" || name == "calls" || name == "sleeps"; remarked[name] != want {
			t.Errorf("%s has a remark: %v, want %v", name, remarked[name], want)
		}
	}
	private, remarked = run(collection.Options{PrivateStack: true}, attached...)
	for _, name := range attached {
		if want := name == "large" || name == "calls" || name == "sleeps"; private[name] != want || remarked[name] {
			t.Errorf("%s with PrivateStack: has one: %v, want %v, remark: %v", name, private[name], want, remarked[name])
		}
	}
}

// TestStackTooSmall checks that a program which needs more than the
// task's stack loads with the option PrivateStack, and that the error without it
// says so.
func TestStackTooSmall(t *testing.T) {
	bpf.NeedPrivateStacks(t, "../testdata/stack.bpf.c")
	spec := bpf.ReadSpec(t, needs.CompileBPF(t, "../testdata/stack.bpf.c"))
	for name := range spec.Programs {
		if name != "deeper" {
			delete(spec.Programs, name)
		}
	}
	c, err := collection.New(t.Context(), spec, nil)
	if err == nil {
		c.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "Options.PrivateStack") {
		t.Errorf("error %v, want one that names the option", err)
	}
	newCollection(t, spec, &collection.Options{PrivateStack: true})
}
