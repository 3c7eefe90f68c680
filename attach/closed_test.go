package attach_test

import (
	"errors"
	"os/exec"
	"slices"
	"testing"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/live"
	"github.com/go-usdt/usdt/reader"
)

// TestClosed checks what methods of a closed aggregate return.
func TestClosed(t *testing.T) {
	p := startChild(t, "aggregate")
	p.Do("load")
	a := openAggregate(t, []string{"agg:done"}, attach.Count(), &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Read(); !errors.Is(err, attach.ErrClosed) {
		t.Errorf("Read after Close: error %v, want one that wraps ErrClosed", err)
	}
	if plan := a.Plan(); plan.Attached() != 1 || plan[0].ArgErrs != nil {
		t.Errorf("Plan after Close: %+v, want the site", plan)
	}
	if _, err := a.Stats(); err != nil {
		t.Errorf("Stats after Close: %v", err)
	}
}

// TestPlanCopy checks that the caller may change a plan that it got.
func TestPlanCopy(t *testing.T) {
	path := compile(t, "gcc", "-O2")
	p := start(t, exec.Command(path))
	_, prog := cookieProgram(t, attach.MultiLink)
	probe := live.Probe(t, p.PID(), "args:bare")
	a, err := attach.AttachProbes(prog, []reader.Probe{probe, probe}, &attach.ProgramOptions{
		Target: attach.Target{PIDs: []int{p.PID()}}, Cookies: []uint64{7},
	})
	needMulti(t, err)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	plan := a.Plan()
	for i := range plan {
		plan[i].Attached, plan[i].Notes = false, append(plan[i].Notes, "mine")
	}
	if again := a.Plan(); again.Attached() != 2 || slices.Contains(again[0].Notes, "mine") {
		t.Errorf("a plan that was changed is given to others: %+v", again)
	}
}
