package collection_test

import (
	"errors"
	"testing"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/bpf"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestPlanRefused checks that Plan says why a program could not be
// attached to any of its sites.
func TestPlanRefused(t *testing.T) {
	library := needs.Compile(t, "../testdata/library.c", "gcc", "-O1", "-shared", "-fPIC", "-Wl,-z,relro")
	spec := bpf.ReadSpec(t, newestObject)
	spec.Programs["any"].AttachTo = library + ":library:relro"
	delete(spec.Programs, "bare")
	delete(spec.Programs, "ints")
	c := newCollection(t, spec, nil)
	check := func(when string) {
		t.Helper()
		plan := c.Plan("any")
		if len(plan) != 1 || plan[0].Attached || !errors.Is(plan[0].Reason, attach.ErrSilent) {
			t.Errorf("plan %s: %+v, want one site that is refused", when, plan)
		}
	}
	check("before Attach")
	if err := c.Attach(t.Context()); !errors.Is(err, attach.ErrNoSite) {
		t.Errorf("error %v, want one that wraps ErrNoSite", err)
	}
	check("after Attach")
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if err := c.Attach(t.Context()); !errors.Is(err, attach.ErrClosed) {
		t.Errorf("Attach after Close: error %v, want one that wraps attach.ErrClosed", err)
	}
}
