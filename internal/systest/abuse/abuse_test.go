// Package abuse checks that probes and tracers survive what happens to processes:
// they are killed, stopped, starved of descriptors or memory, and execute new
// programs; and that nothing stays behind.
//
// The programs under test are testdata/victim, whose probes are abused, and
// this test binary itself, started again as a tracer.
package abuse_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/leftover"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/reader"
)

// roles are the tracers that this binary can be.
var roles = tracee.Roles{}

// victimPath leads to the victim. tracerPath leads to this binary by a name of
// this run's, which the kernel's log gives for tracers.
var victimPath, tracerPath string

func TestMain(m *testing.M) {
	tracee.Run(roles)
	dir, err := os.MkdirTemp("", "abuse")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	victimPath = filepath.Join(dir, "victim")
	tracerPath = filepath.Join(dir, fmt.Sprint("abuse", os.Getpid()))
	if err := os.Symlink(fmt.Sprintf("/proc/%d/exe", os.Getpid()), tracerPath); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	build := exec.Command("go", "build", "-o", victimPath, "./testdata/victim")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		os.Exit(1)
	}
	status := leftover.Run(m)
	os.RemoveAll(dir)
	os.Exit(status)
}

// process is a victim or a tracer.
type process struct {
	*tracee.Program
	t testing.TB
}

// start starts a program and waits until it says that it is ready.
func start(t testing.TB, cmd *exec.Cmd) *process {
	t.Helper()
	return &process{tracee.StartVictim(t, cmd).Ready(), t}
}

func startVictim(t testing.TB) *process {
	t.Helper()
	needs.Root(t)
	return start(t, exec.Command(victimPath))
}

// tracerCommand runs this binary as one of roles.
func tracerCommand(name string, args ...string) *exec.Cmd {
	cmd := tracee.Self(name, args...)
	cmd.Path, cmd.Args[0] = tracerPath, tracerPath
	return cmd
}

var selectors = []string{"fast:hit", "slow:hit"}

// probes calls do with each of the victim's probes.
func (p *process) probes(do func(*reader.Probe)) {
	p.t.Helper()
	r, err := reader.OpenProcess(p.PID())
	if err != nil {
		p.t.Fatalf("%v; the victim: %v", err, p.End())
	}
	defer r.Close()
	n := 0
	for probe, err := range r.Probes() {
		if err != nil {
			p.t.Fatal(err)
		}
		if (probe.Provider == "fast" || probe.Provider == "slow") && probe.Name == "hit" {
			do(&probe)
			n++
		}
	}
	if n != len(selectors) {
		p.t.Fatalf("process %d has %d probes, want %d", p.PID(), n, len(selectors))
	}
}

// watched reports whether somebody is attached to the victim.
func (p *process) watched() bool {
	p.t.Helper()
	watched := false
	p.probes(func(probe *reader.Probe) {
		v, err := probe.SemaphoreValue()
		if err != nil {
			p.t.Fatal(err)
		}
		watched = watched || v > 0
	})
	return watched
}

// checkClean checks that nobody is attached to the victim: its semaphores are 0
// and its sites hold no breakpoint and no call.
func (p *process) checkClean() {
	p.t.Helper()
	eventually(p.t, func() (wrong string) {
		p.probes(func(probe *reader.Probe) {
			if v, err := probe.SemaphoreValue(); err != nil || v != 0 {
				wrong = fmt.Sprintf("semaphore of %s:%s is %d (%v)", probe.Provider, probe.Name, v, err)
			}
			if site, err := probe.Site(); err != nil || site.State != reader.CleanSite {
				wrong = fmt.Sprintf("site of %s:%s is %v (%v)", probe.Provider, probe.Name, site.State, err)
			}
		})
		return wrong
	})
}

// eventually fails the test unless wrong returns "" in time: the kernel releases
// what a killed process held a moment later.
func eventually(t testing.TB, wrong func() string) {
	t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for {
		why := wrong()
		if why == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(why)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// within fails the test if fn takes longer than d.
func within(t testing.TB, d time.Duration, what string, fn func()) {
	t.Helper()
	timer := time.AfterFunc(d, func() { panic(fmt.Sprintf("%s takes longer than %v", what, d)) })
	defer timer.Stop()
	fn()
}

func open(t testing.TB, opts *attach.Options) *attach.Session {
	t.Helper()
	s, err := attach.Open(t.Context(), selectors, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// finish closes a session and checks that every event was counted.
func finish(t testing.TB, s *attach.Session) attach.Stats {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	st, err := s.Stats()
	if err != nil {
		t.Fatal(err)
	}
	if st.Fired != st.Received+st.Lost+st.Filtered+st.Missed+st.Unread {
		t.Errorf("not every firing is accounted for: %+v", st)
	}
	return st
}
