package usdtreceiver

import (
	"math"
	"os"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// planned is a session that has attached to some sites.
type planned struct {
	attach.Tracer
	plan attach.Plan
	cost attach.Cost
}

func (p *planned) Plan() attach.Plan { return p.plan }

func (p *planned) Cost() (attach.Cost, error) { return p.cost, nil }

// TestDivide checks that a trap that several traces of a target share counts once, also after one of
// them has ended.
func TestDivide(t *testing.T) {
	needs.Root(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	m := measuring{targets: map[string]*processorTime{}}
	defer m.close()
	session := func(target Target, offsets ...uint64) *share {
		p := &planned{}
		for _, at := range offsets {
			p.plan = append(p.plan, attach.Site{Path: exe, Offset: at, Attached: true})
		}
		p.plan = append(p.plan, attach.Site{Path: exe, Offset: 1}) // which is not attached to
		e := newRunning(&metricsTask{trace: &Trace{Name: "divided", Target: target, Metrics: &Metrics{}}}).env
		e.total.Store(newAllowance(0))
		s := &share{e: e, tracer: p}
		m.begin(t.Context(), s)
		return s
	}
	round := func(all ...*share) {
		t.Helper()
		for _, s := range all {
			s.tracer.(*planned).cost.Runs += 1000
		}
		m.round(t.Context(), all)
	}
	here := Target{PIDs: []int{os.Getpid()}}
	alone := session(here, 4096)
	round(alone)
	whole := alone.trap
	if whole < 10*time.Nanosecond || alone.percent == 0 {
		t.Fatalf("a trap takes %v, which is %g%%", whole, alone.percent)
	}
	both, other, more := session(here, 4096), session(Target{Comm: "another"}, 4096), session(here, 4096, 4097)
	round(alone, both, other)
	if alone.trap != whole/2 || both.trap != whole/2 || other.trap != whole {
		t.Errorf("%v and %v of the same trap, %v of another target's; want %v in all and %v", alone.trap, both.trap, other.trap, whole, whole)
	}
	round(alone, both, more)
	if alone.trap != whole/3 || more.trap < whole/3 {
		t.Errorf("%v of a trap that three share, %v with one that nobody shares; want %v", alone.trap, more.trap, whole/3)
	}
	round(alone)
	if alone.trap != whole {
		t.Errorf("%v of a trap that nobody shares any longer, want %v", alone.trap, whole)
	}
}

// TestEnd checks that a session that ends is charged with what it took until it was detached, and with what it
// took to attach, once.
func TestEnd(t *testing.T) {
	for _, c := range []struct {
		name   string
		took   time.Duration // by its programs, since the last round
		opened time.Duration
		used   float64 // in percent of a second of two processors
	}{
		{name: "at rest"},
		{name: "took something", took: 100 * time.Millisecond, used: 5},
		{name: "was attached", opened: 40 * time.Millisecond, used: 2},
		{name: "both", took: 100 * time.Millisecond, opened: 40 * time.Millisecond, used: 7},
	} {
		e := newRunning(&metricsTask{trace: &Trace{Name: "ended", MaxCPUPercent: 3, Metrics: &Metrics{}}}).env
		total := newAllowance(5)
		e.total.Store(total)
		e.opened.Store(int64(c.opened))
		p := &planned{cost: attach.Cost{Runs: 10, Time: time.Second}}
		s := &share{e: e, tracer: p, places: map[place]time.Duration{}}
		if !s.share(&processorTime{used: 4 * time.Second, between: 2 * time.Second}) || s.percent != 25 {
			t.Fatalf("%s: %g%%", c.name, s.percent)
		}
		p.cost.Time += c.took
		now := e.own.at.Add(-time.Second) // so that nothing is earned
		for _, a := range []*allowance{e.own, total} {
			a.at = now
		}
		for range 2 {
			s.end(now)
			e.opened.Store(0)
		}
		for _, a := range []*allowance{e.own, total} {
			if math.Abs(-a.left-c.used) > 1e-6 {
				t.Errorf("%s: %g%% of a second are owed, want %g", c.name, -a.left, c.used)
			}
		}
	}
}
