package collection_test

import (
	"errors"
	"testing"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/attach/collection"
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

// TestForced checks that Force attaches where a plan would refuse to, and what an attachment
// says of its sites until and after its end.
func TestForced(t *testing.T) {
	library := needs.Compile(t, "../testdata/library.c", "gcc", "-O1", "-shared", "-fPIC", "-Wl,-z,relro")
	c := newCollection(t, bpf.ReadSpec(t, newestObject), nil)
	if _, err := c.AttachProgram(t.Context(), "any", library+":library:relro", nil); !errors.Is(err, attach.ErrSilent) {
		t.Errorf("not forced: %v, want one that wraps ErrSilent", err)
	}
	a := attachProgram(t, c, "any", library+":library:relro", &collection.Options{Force: true})
	plan := a.Plan()
	known := len(plan)
	if known != 1 || plan.Attached() != 1 || len(plan[0].Notes) == 0 {
		t.Errorf("forced: %+v", plan)
	}
	if err := errors.Join(a.Close(), a.Wait(t.Context())); err != nil || a.Pending() != 0 {
		t.Errorf("closed: %v, %d events are left", err, a.Pending())
	}
	for site, left := range a.Sites(t.Context()) { // which end at once
		if known--; left || !site.Attached {
			t.Errorf("delivered %+v, left %v", site, left)
		}
	}
	if known != 0 {
		t.Errorf("%d sites more than were delivered", known)
	}
}
