package targets_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/reader"
)

// find returns the first of candidates that is a program, a path or a name in
// PATH, and has probes of the provider.
func find(t testing.TB, provider string, candidates ...string) string {
	t.Helper()
	needs.Root(t)
	for _, c := range candidates {
		path, err := exec.LookPath(c)
		if err != nil {
			continue
		}
		if hasProvider(path, provider) {
			return path
		}
	}
	needs.Skip(t, "needs one of %v with probes %s:*", candidates, provider)
	return ""
}

func hasProvider(path, provider string) bool {
	f, err := reader.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	for p, err := range f.Probes() {
		if err == nil && p.Provider == provider {
			return true
		}
	}
	return false
}

// start starts a program, which says "ready" first and then answers each line of
// its input.
func start(t testing.TB, name string, args ...string) *tracee.Program {
	t.Helper()
	return tracee.Start(t, exec.Command(name, args...)).Ready()
}

func open(t testing.TB, selectors []string, opts *attach.Options) *attach.Session {
	t.Helper()
	return openEvents(t, selectors, nil, opts)
}

func openEvents(t testing.TB, selectors []string, what *attach.EventOptions, opts *attach.Options) *attach.Session {
	t.Helper()
	s, err := attach.OpenEvents(t.Context(), selectors, what, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	for _, site := range s.Plan() {
		if !site.Attached {
			t.Errorf("%s:%s at %#x is not attached: %v", site.Probe.Provider, site.Probe.Name, site.Offset, site.Reason)
		}
	}
	return s
}

// drain detaches, checks that the numbers add up and nothing was lost, and
// returns the events.
func drain(t testing.TB, s *attach.Session) []event.Event {
	t.Helper()
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	var all []event.Event
	for ev, err := range s.Events() {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, ev)
	}
	checkSum(t, s)
	return all
}

func checkSum(t testing.TB, s *attach.Session) {
	t.Helper()
	st, err := s.Stats()
	if err != nil {
		t.Fatal(err)
	}
	if sum := st.Received + st.Lost + st.Filtered + st.Missed + st.Unread; st.Fired != sum || st.Lost+st.Missed > 0 {
		t.Errorf("fired %d, received+lost+filtered+missed = %d, want the same and nothing lost: %+v", st.Fired, sum, st)
	}
}

// live returns the probes of a process that are traced by s.
func live(t testing.TB, pid int, s *attach.Session) []reader.Probe {
	t.Helper()
	type key struct {
		name   string
		offset uint64
	}
	traced := map[key]bool{}
	for _, site := range s.Plan() {
		if site.Attached {
			traced[key{site.Probe.Provider + ":" + site.Probe.Name, site.Probe.Offset}] = true
		}
	}
	proc, err := reader.OpenProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { proc.Close() })
	var all []reader.Probe
	for p, err := range proc.Probes() {
		if err != nil {
			t.Fatal(err)
		}
		if traced[key{p.Provider + ":" + p.Name, p.Offset}] {
			all = append(all, p)
		}
	}
	if len(all) != len(traced) {
		t.Fatalf("process %d has %d of the %d probes traced", pid, len(all), len(traced))
	}
	return all
}

// checkArmed fails the test unless every probe has its breakpoint and a raised
// semaphore, if it has one.
func checkArmed(t testing.TB, probes []reader.Probe) {
	t.Helper()
	for i := range probes {
		if state, semaphore := stateOf(t, &probes[i]); state == reader.CleanSite || semaphore == 0 {
			t.Errorf("%s:%s is %v with semaphore %d while it is traced", probes[i].Provider, probes[i].Name, state, semaphore)
		}
	}
}

// checkClean fails the test unless every site and semaphore becomes in time what
// it was. Another tracer may trace the whole machine for a while.
func checkClean(t testing.TB, probes []reader.Probe) {
	t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for i := range probes {
		for {
			state, semaphore := stateOf(t, &probes[i])
			if state == reader.CleanSite && semaphore <= 0 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s:%s is %v with semaphore %d although it is traced no more", probes[i].Provider, probes[i].Name, state, semaphore)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// stateOf returns the state of a live site, and its semaphore or -1.
func stateOf(t testing.TB, p *reader.Probe) (reader.SiteState, int) {
	t.Helper()
	site, err := p.Site()
	if err != nil {
		t.Fatal(err)
	}
	if p.Live.SemaphoreAddress == 0 {
		return site.State, -1
	}
	n, err := p.SemaphoreValue()
	if err != nil {
		t.Fatal(err)
	}
	return site.State, int(n)
}

// values returns what an event's arguments hold.
func values(t testing.TB, ev *event.Event) []any {
	t.Helper()
	var all []any
	for _, a := range ev.Args {
		if a.Err != nil {
			t.Errorf("%s:%s %s: %v", ev.Provider, ev.Name, a.Name, a.Err)
		}
		all = append(all, a.Value)
	}
	return all
}

// copied returns a copy of a program: nobody else runs or traces it.
func copied(t testing.TB, path, dir string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, filepath.Base(path))
	if err := os.WriteFile(out, b, 0o755); err != nil {
		t.Fatal(err)
	}
	return out
}
