package collection_test

import (
	"context"
	"iter"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/attach/collection"
	"github.com/go-usdt/usdt/internal/systest/bpf"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// TestSites follows the sites of a program from a section: the first ones, the sites of a process
// that loads its probes later, and the sites of one that closes its probes.
func TestSites(t *testing.T) {
	p, q := start(t, tracee.Self("typed")), start(t, tracee.Self("typed"))
	p.Do("load")
	spec := bpf.ReadSpec(t, newestObject)
	for name, prog := range spec.Programs {
		prog.AttachTo = map[string]string{"any": "typed:*", "bare": "typed:nosuch"}[name]
	}
	c := newCollection(t, spec, &collection.Options{Target: attach.Target{PIDs: []int{p.PID(), q.PID()}}, Rescan: tracee.RescanEvery(5 * time.Millisecond), Await: true})
	if err := c.Attach(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	next, stop := iter.Pull2(c.Sites(ctx, "any"))
	defer stop()
	await := func(pid int, left bool) {
		t.Helper()
		names := map[string]bool{}
		for range 2 {
			s, gone, ok := next()
			if !ok || s.PID != pid || gone != left || s.Reason != nil {
				t.Fatalf("got %+v, left %v, %v; want one of process %d, left %v", s, gone, ok, pid, left)
			}
			names[s.Probe.Name] = true
		}
		if len(names) != 2 {
			t.Errorf("got the sites of %v, want two", names)
		}
	}
	await(p.PID(), false)
	q.Do("load")
	await(q.PID(), false)
	p.Do("close")
	await(p.PID(), true)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if s, left, ok := next(); ok {
		t.Errorf("%+v, left %v, after Close", s, left)
	}
	for s := range c.Sites(ctx, "bare") {
		t.Errorf("a program without sites has %+v", s)
	}
	for s := range c.Sites(ctx, "nosuch") {
		t.Errorf("a program that is not there has %+v", s)
	}
}

// TestSitesDetached asks for sites before Attach, and after its context has ended.
func TestSitesDetached(t *testing.T) {
	spec := bpf.ReadSpec(t, newestObject)
	path := compile(t, "gcc", "-O2")
	for name, prog := range spec.Programs {
		prog.AttachTo = map[string]string{"any": path + ":args:bare"}[name]
	}
	c := newCollection(t, spec, nil)
	for range 2 {
		n := 0
		for s, left := range c.Sites(t.Context(), "any") { // before Attach, and when all is detached
			if n++; left || s.Probe.Name != "bare" {
				t.Errorf("got %+v, left %v", s, left)
			}
		}
		if n != 1 {
			t.Errorf("%d sites, want 1", n)
		}
		ctx, cancel := context.WithCancel(t.Context())
		if err := c.Attach(ctx); err != nil {
			t.Fatal(err)
		}
		cancel()
		for range c.Sites(t.Context(), "any") { // ends once the context has detached
		}
	}
}
