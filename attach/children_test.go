package attach_test

import (
	"os/exec"
	"testing"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// TestTargetChildren checks that each event of a process's child, and of all that these start,
// is recorded and added up, and that tracing ends with the last of them.
func TestTargetChildren(t *testing.T) {
	program := needs.Compile(t, "testdata/forks.c", "gcc", "-O1")
	begin := func() (*tracee.Program, *attach.Options) {
		p := tracee.StartVictim(t, exec.Command(program))
		p.Line()
		p.Line()
		return p, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}, Children: true}}
	}
	const fired = 20
	p, opts := begin()
	s, err := attach.Open(t.Context(), []string{"forks:hit"}, opts)
	if err != nil {
		needPrivileges(t, err)
		t.Fatal(err)
	}
	defer s.Close()
	p.EndInput()
	pids := map[int]bool{}
	for ev, err := range s.Events() {
		if err != nil {
			t.Fatal(err)
		}
		pids[ev.PID] = true
	}
	if len(pids) != fired {
		t.Errorf("events of %d processes, want %d", len(pids), fired)
	}
	p, opts = begin()
	a, err := attach.OpenAggregate(t.Context(), []string{"forks:hit"}, attach.Count(), opts)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	p.EndInput()
	<-a.Done()
	if groups, err := a.Read(); err != nil || len(groups) != 1 || groups[0].Count != fired {
		t.Errorf("groups %+v, error %v, want %d events", groups, err, fired)
	}
}
