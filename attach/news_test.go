package attach_test

import (
	"fmt"
	"os"
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
		name := ownName("declared")
		p := startChild(t, "aggregate")
		s := open(t, name+":done", hour(p.PID()))
		everywhere := open(t, name+":done", hour())
		p.Do("load %s", name)
		awaitSites(t, s.Plan, 1)
		awaitSites(t, everywhere.Plan, 1)
		for range 2 {
			other := startChild(t, "aggregate")
			other.Do("load %s", name)
			awaitSites(t, func() attach.Plan { return inProcess(everywhere.Plan(), other.PID()) }, 1)
			other.Do("fire 1")
		}
		p.Do("fire 1")
		if n := len(drain(t, s)); n != aggregateEvents {
			t.Errorf("%d events of a chosen process, want %d", n, aggregateEvents)
		}
		if n := len(drain(t, everywhere)); n != 3*aggregateEvents {
			t.Errorf("%d events of all processes, want %d", n, 3*aggregateEvents)
		}
	})
	t.Run("executed", func(t *testing.T) {
		name := ownName("executed")
		s := open(t, name+":bare", hour())
		p := start(t, exec.Command(compile(t, "gcc", "-O2", "-Dargs="+name)))
		awaitSites(t, s.Plan, 1)
		p.Do("")
		if n := len(drain(t, s)); n != 1 {
			t.Errorf("%d events, want 1", n)
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
		name := ownName("ended")
		path := buildStarting(t, "-Dstarting="+name)
		s := open(t, name+":hit", hour())
		for end := time.Now().Add(time.Minute); s.Plan().Attached() == 0; {
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

// ownName returns the name of a provider that a test traces in all processes: no test in another process
// declares it or traces it.
func ownName(name string) string { return fmt.Sprint(name, os.Getpid()) }

// inProcess returns the sites of a plan in files without a name of a process.
func inProcess(plan attach.Plan, pid int) (sites attach.Plan) {
	for i := range plan {
		if strings.HasPrefix(plan[i].Path, fmt.Sprintf("/proc/%d/", pid)) {
			sites = append(sites, plan[i])
		}
	}
	return sites
}
