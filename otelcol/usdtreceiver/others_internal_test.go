package usdtreceiver

import (
	"testing"

	"go.uber.org/zap"

	"github.com/go-usdt/usdt/total"
)

// TestOthers checks that events beyond the bound of groups count once, also of several sessions.
func TestOthers(t *testing.T) {
	groups := func(n uint64) []total.Group { return []total.Group{{Count: 100}, {Other: true, Count: n}} }
	for _, delta := range []bool{false, true} {
		e := &env{counts: newCounts(&Trace{Name: "many", Metrics: &Metrics{}}, "metrics"), last: zap.NewNop()}
		for session := range uint64(2) {
			o := newOthers(e, delta)
			for i := range uint64(3) {
				n := i + 1 // all so far, or since the last time
				if delta {
					n = 1
				}
				o.see(groups(n))
				o.see(nil)
				if got, want := e.counts.others.Load(), session*3+i+1; got != want {
					t.Errorf("delta %v, session %d: %d events, want %d", delta, session, got, want)
				}
			}
		}
	}
}
