package attach_test

import (
	"fmt"
	"iter"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/provider"
)

// TestRescanNow attaches to probes as soon as they are declared: to the first while
// nothing can fire, to the second after it may have fired.
func TestRescanNow(t *testing.T) {
	needs.Root(t)
	s, err := attach.Open(t.Context(), []string{"rescan_now*:probe"}, &attach.Options{Target: attach.Target{PIDs: []int{os.Getpid()}}, Await: true, Rescan: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	n := 0
	found := func(rescan func() error) (late time.Duration) {
		p := provider.New(fmt.Sprint("rescan_now", n), nil)
		probe := provider.NewProbe0(p, "probe")
		if err := p.Load(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.Close() })
		if err := rescan(); err != nil {
			t.Fatal(err)
		}
		n++
		plan := s.Plan()
		if len(plan) != n || !probe.Enabled() {
			t.Fatalf("%d sites, want %d, enabled %v", len(plan), n, probe.Enabled())
		}
		return plan[n-1].Late
	}
	late := found(s.RescanHeld)
	for deadline := time.Now().Add(time.Minute); late != 0 && time.Now().Before(deadline); { // the kernel's report of the mapping was read first
		late = found(s.RescanHeld)
	}
	if late != 0 {
		t.Errorf("%v late in a process that is held", late)
	}
	if late := found(s.Rescan); late == 0 || late > time.Minute {
		t.Errorf("%v late", late)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.RescanHeld(); err != nil {
		t.Errorf("after the end: %v", err)
	}
}

// TestSitesAsTheyCome checks that a session delivers its sites as they are attached to and left.
func TestSitesAsTheyCome(t *testing.T) {
	p := startChild(t, "aggregate")
	name := ownName("come")
	s := open(t, name+":done", &attach.Options{Await: true, Rescan: time.Hour})
	next, stop := iter.Pull2(s.Sites(t.Context()))
	defer stop()
	await := func(left bool) {
		t.Helper()
		if site, gone, ok := next(); !ok || !strings.HasPrefix(site.Path, fmt.Sprintf("/proc/%d/", p.PID())) || gone != left {
			t.Fatalf("site %+v, left %v, %v; want one of the process, left %v", site, gone, ok, left)
		}
	}
	p.Do("load %s", name)
	if err := s.Rescan(); err != nil {
		t.Fatal(err)
	}
	await(false)
	if err := p.End(); err != nil {
		t.Error(err)
	}
	go awaitLeftIn(t, s, p.PID())
	await(true)
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	for {
		if _, _, ok := next(); !ok {
			break
		}
	}
}

// awaitLeftIn rescans until the plan has no site in files without a name of a process.
func awaitLeftIn(t *testing.T, s *attach.Session, pid int) {
	for len(inProcess(s.Plan(), pid)) > 0 && t.Context().Err() == nil {
		if s.Rescan() != nil {
			return
		}
	}
}
