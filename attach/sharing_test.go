package attach_test

import (
	"errors"
	"os/exec"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/bpf"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// TestManyProcesses traces more processes than get links of their own. One link
// serves them all, other processes of the program give no events, and a library
// that some of them load later is also traced.
func TestManyProcesses(t *testing.T) {
	path := compile(t, "gcc", "-O2", "-DSEMAPHORES")
	programs, pids := tracee.StartMany(t, path, 12)
	stranger := start(t, exec.Command(path))
	late := startChild(t, "versions")
	pids = append(pids, late.PID())
	for _, link := range []attach.LinkKind{attach.AutoLink, attach.PerfLink} {
		o := attach.Options{Target: attach.Target{PIDs: pids}, Link: link, Rescan: tracee.RescanEvery(5 * time.Millisecond)}
		before := bpf.OwnLinks(t)
		s := openAll(t, &o, "args:bare", "args:ints")
		const perProcess = 2
		links := len(bpf.NewLinks(t, before))
		if n := s.Plan().Attached(); n != 12*perProcess || links > perProcess {
			t.Errorf("link %v: %d sites by %d links, want %d by no more than %d", link, n, links, 12*perProcess, perProcess)
		}
		a := openAggregate(t, []string{"args:bare"}, attach.Count().By("pid"), &o)
		for _, p := range programs {
			p.Do("")
		}
		stranger.Do("")
		fired := map[int]int{}
		for _, ev := range drain(t, s) {
			fired[ev.PID]++
			if ev.Probe.Live != nil {
				t.Errorf("link %v: the probe of an event is that of process %d", link, ev.Probe.Live.PID)
			}
		}
		for _, p := range programs {
			if fired[p.PID()] != perProcess {
				t.Errorf("link %v: %d events of process %d, want %d", link, fired[p.PID()], p.PID(), perProcess)
			}
		}
		if len(fired) != len(programs) {
			t.Errorf("link %v: events of %d processes, want %d", link, len(fired), len(programs))
		}
		if groups, err := a.Read(); err != nil || len(groups) != len(programs) {
			t.Errorf("link %v: %d groups (error %v), want %d", link, len(groups), err, len(programs))
		}
		checkSum(t, s)
		if err := errors.Join(s.Close(), s.Wait(t.Context()), a.Close(), a.Wait(t.Context())); err != nil {
			t.Error(err)
		}
	}
	s := openAll(t, &attach.Options{Target: attach.Target{PIDs: pids}, Rescan: tracee.RescanEvery(5 * time.Millisecond), Await: true}, "versions:*", "args:bare")
	first := s.Plan().Attached()
	late.Do("load old")
	awaitSites(t, s.Plan, first+2)
	late.Do("fire")
	if n := len(drain(t, s)); n != 2 {
		t.Errorf("%d events of probes that were declared later, want 2", n)
	}
}

// TestManyFoundLate finds probes in many processes while others of them end, for the race
// detector.
func TestManyFoundLate(t *testing.T) {
	const n = 9 // more have a link each no longer
	processes := make([]*tracee.Program, n)
	var pids []int
	for i := range processes {
		processes[i] = startChild(t, "typed")
		pids = append(pids, processes[i].PID())
	}
	a := openAggregate(t, []string{"typed:text"}, attach.Count().By("pid"),
		&attach.Options{Target: attach.Target{PIDs: pids}, Rescan: time.Millisecond, Await: true})
	for i, p := range processes {
		p.Do("load")
		if err := a.Rescan(); err != nil {
			t.Fatal(err)
		}
		p.Do("text")
		if i%2 == 0 {
			p.Kill()
		}
	}
	groups, err := a.Read()
	if err != nil || len(groups) != n {
		t.Errorf("groups of %d processes, want %d; %v", len(groups), n, err)
	}
}
