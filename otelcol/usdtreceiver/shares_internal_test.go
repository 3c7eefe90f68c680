package usdtreceiver

import (
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
