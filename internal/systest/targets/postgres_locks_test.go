package targets_test

import (
	"testing"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/total"
)

// TestLockModes adds up the mode of PostgreSQL's waits for locks, which the compiler has made a
// constant of another sign at one of three sites.
func TestLockModes(t *testing.T) {
	p := startPostgres(t)
	probes := []string{p.server + ":postgresql:lwlock__wait__start"}
	var groups [2][]total.Group
	var all [2]*attach.Aggregate
	for i, what := range []attach.Aggregation{attach.Count(), attach.Sum("arg1").And(attach.Hist("arg1")).By("arg1")} {
		var err error
		if all[i], err = attach.OpenAggregate(t.Context(), probes, what, nil); err != nil {
			t.Fatal(err)
		}
		defer all[i].Close()
		for _, s := range all[i].Plan() {
			if !s.Attached || len(s.Uncomputed) > 0 {
				t.Errorf("site %#x: %v %v", s.Offset, s.Reason, s.Uncomputed)
			}
		}
	}
	p.client("pgbench", "-n", "-c", "8", "-j", "2", "-t", "200")
	p.settled()
	for i, a := range all {
		var err error
		if groups[i], err = a.Read(); err != nil {
			t.Fatal(err)
		}
	}
	var want, got uint64
	for _, g := range groups[0] {
		want += g.Count
	}
	for _, g := range groups[1] {
		got += g.Count
		if mode, ok := g.By[0].Value.(uint64); !ok || g.Sum != mode*g.Count {
			t.Errorf("group %+v", g)
		}
	}
	if got != want || len(all[0].Plan()) < 2 {
		t.Errorf("%d waits by their mode, %d in all, at %d sites", got, want, len(all[0].Plan()))
	}
}
