package attach_test

import (
	"os"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// awaitSites waits until a session has attached to n sites.
func awaitSites(t *testing.T, plan func() attach.Plan, n int) {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); plan().Attached() < n; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("attached %d sites, want %d: %+v", plan().Attached(), n, plan())
		}
	}
}

// found returns how many sites a session has found since it began.
func found(t *testing.T, s attach.Tracer) int {
	t.Helper()
	st, err := s.Stats()
	if err != nil {
		t.Fatal(err)
	}
	return int(st.Found)
}

// newest returns the last site that a session has found, once it has found n; the earlier ones may have left
// the plan.
func newest(t *testing.T, s attach.Tracer, n int) attach.Plan {
	if plan := s.Plan(); found(t, s) >= n && len(plan) > 0 { // one that ends while it is looked at may be found twice
		return plan[len(plan)-1:]
	}
	return nil
}

// awaitKnown waits until a session has found n sites since it began, including
// sites that it has left.
func awaitKnown(t *testing.T, s *attach.Session, n int) {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); ; time.Sleep(time.Millisecond) {
		known := found(t, s)
		if known >= n {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("found %d sites, want %d: %+v", known, n, s.Plan())
		}
	}
}

// awaitLeft rescans until a session has left all its sites, and their numbers may be given
// to others. How many rescans that takes, others on the machine decide: a file is not taken
// for gone while a process is there that began later and shows no memory, as all of several
// threads do that are ending, and a reader may have an event for as long as it has no CPU.
func awaitLeft(t *testing.T, s interface {
	Plan() attach.Plan
	Leaving() int
}, rescan func()) {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); len(s.Plan()) > 0 || s.Leaving() > 0; rescan() {
		if time.Now().After(end) {
			t.Fatalf("%d sites that nobody has any more are in the plan, and %d numbers are not free: %+v", len(s.Plan()), s.Leaving(), s.Plan())
		}
	}
}

// TestRescanProcess attaches to probes that a process declares later, after
// another traced process has ended.
func TestRescanProcess(t *testing.T) {
	p, other := startChild(t, "typed"), startChild(t, "typed")
	o := attach.Options{Target: attach.Target{PIDs: []int{other.PID(), p.PID()}}, Rescan: tracee.RescanEvery(5 * time.Millisecond), Await: true}
	s := openEvents(t, "typed:*", &attach.EventOptions{MaxString: 100}, &o)
	if n := len(s.Plan()); n != 0 {
		t.Fatalf("%d sites before the program has declared any", n)
	}
	if err := other.End(); err != nil {
		t.Error(err)
	}
	p.Do("load")
	awaitSites(t, s.Plan, 4)
	p.Do("text")
	p.Do("ints")
	events := drain(t, s)
	if len(events) != 5 || events[0].Args[0].Value != "a\x00b" || events[4].Name != "ints" {
		t.Errorf("events %+v", events)
	}
	checkSum(t, s)
}

// TestRescanMachine attaches to the probes of processes that start later, each
// with a memory file of its own, besides those of a running one.
func TestRescanMachine(t *testing.T) {
	name := ownName("rescan")
	probe := name + ":done"
	first := startChild(t, "aggregate")
	first.Do("load %s", name)
	o := attach.Options{Rescan: tracee.RescanEvery(5 * time.Millisecond)}
	s := open(t, probe, &o)
	a := openAggregate(t, []string{probe}, attach.Count().By("probe", "pid"), &o)
	second := startChild(t, "aggregate")
	second.Do("load %s", name)
	awaitSites(t, s.Plan, 2)
	awaitSites(t, a.Plan, 2)
	first.Do("fire 1")
	second.Do("fire 1")
	fired := map[int]int{}
	for _, ev := range drain(t, s) {
		fired[ev.PID]++
	}
	groups, err := a.Read()
	if err != nil {
		t.Fatal(err)
	}
	counted := map[int]int{}
	for _, g := range groups {
		if g.By[0].Value == probe {
			counted[int(g.By[1].Value.(uint64))] += int(g.Count)
		}
	}
	for _, p := range []*tracee.Program{first, second} {
		if fired[p.PID()] != aggregateEvents || counted[p.PID()] != aggregateEvents {
			t.Errorf("%d events, %d counted of process %d, want %d", fired[p.PID()], counted[p.PID()], p.PID(), aggregateEvents)
		}
	}
	checkSum(t, s)
}

// TestRescanWithout checks that the search for probes goes on when a file that a
// selector names has been removed.
func TestRescanWithout(t *testing.T) {
	path := compile(t, "gcc", "-O2")
	name := ownName("without")
	s := openAll(t, &attach.Options{Rescan: tracee.RescanEvery(5 * time.Millisecond), Await: true}, path+":args:memory", name+":done")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	p := startChild(t, "aggregate")
	p.Do("load %s", name)
	awaitSites(t, func() attach.Plan { return inProcess(s.Plan(), p.PID()) }, 1)
}
