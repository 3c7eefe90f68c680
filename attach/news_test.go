package attach_test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach"
)

// TestNews attaches to what processes execute, load and declare long before the next rescan, in
// all processes and in chosen ones, and once to a program whose processes end before they can be
// looked at.
func TestNews(t *testing.T) {
	hour := func(pids ...int) *attach.Options {
		return &attach.Options{Target: attach.Target{PIDs: pids}, Rescan: time.Hour, Await: true}
	}
	t.Run("declared", func(t *testing.T) {
		p := startChild(t, "aggregate")
		s := open(t, "agg:done", hour(p.PID()))
		everywhere := open(t, "agg:done", hour())
		p.Do("load")
		awaitSites(t, s.Plan, 1)
		// Others may begin and end meanwhile. Each has a file of its own.
		in := func(pid int) func() attach.Plan {
			return func() attach.Plan { return within(everywhere.Plan(), fmt.Sprintf("/proc/%d/", pid)) }
		}
		awaitSites(t, in(p.PID()), 1)
		for range 2 {
			other := startChild(t, "aggregate")
			other.Do("load")
			awaitSites(t, in(other.PID()), 1)
			other.Do("fire 1")
		}
		p.Do("fire 1")
		if n := len(drain(t, s)); n != aggregateEvents {
			t.Errorf("%d events of a chosen process, want %d", n, aggregateEvents)
		}
		if n := len(drain(t, everywhere)); n < 3*aggregateEvents {
			t.Errorf("%d events of all processes, want at least %d", n, 3*aggregateEvents)
		}
	})
	t.Run("executed", func(t *testing.T) {
		path := compile(t, "gcc", "-O2")
		s := open(t, "args:bare", hour())
		p := start(t, exec.Command(path))
		awaitSites(t, func() attach.Plan { return within(s.Plan(), path) }, 1)
		p.Do("")
		fired := 0
		for _, ev := range drain(t, s) {
			if ev.PID == p.PID() {
				fired++
			}
		}
		if fired != 1 {
			t.Errorf("%d events, want 1", fired)
		}
	})
	t.Run("loaded", func(t *testing.T) {
		exe, library := compileLibrary(t)
		p := start(t, exec.Command(exe, library))
		s := open(t, "library:tick", hour(p.PID()))
		reload(t, p, loadAndStay)
		awaitSites(t, s.Plan, 1)
		if late := s.Plan()[0].Late; late == 0 || late > 30*time.Minute {
			t.Errorf("the site has perhaps fired unseen for %v", late)
		}
		if st, err := s.Stats(); err != nil || st.Late != 1 || st.Lateness != s.Plan()[0].Late {
			t.Errorf("statistics %+v, %v, want one late site", st, err)
		}
		reload(t, p, fireAndUnload)
		if n := len(drain(t, s)); n != 1 {
			t.Errorf("%d events, want 1", n)
		}
	})
	t.Run("ended", func(t *testing.T) {
		path := buildStarting(t)
		s := open(t, "starting:hit", hour())
		for end := time.Now().Add(time.Minute); within(s.Plan(), path).Attached() == 0; {
			if err := exec.Command(path).Run(); err != nil {
				t.Fatal(err)
			}
			if time.Now().After(end) {
				t.Fatalf("nothing is attached to: %+v", s.Plan())
			}
		}
		if err := exec.Command(path).Run(); err != nil {
			t.Fatal(err)
		}
		if n := len(drain(t, s)); n == 0 {
			t.Error("no event")
		}
	})
}

// within returns the sites of a plan in files whose paths begin so.
func within(plan attach.Plan, path string) (sites attach.Plan) {
	for i := range plan {
		if strings.HasPrefix(plan[i].Path, path) {
			sites = append(sites, plan[i])
		}
	}
	return sites
}
