package usdtreceiver

import (
	"testing"
	"time"
)

// TestAllowance follows a session of constant cost for an hour: it runs until it has taken too much,
// for a second at least, waits for its suspension and until nothing is owed, and runs again.
func TestAllowance(t *testing.T) {
	const suspension = 30
	for _, c := range []struct{ allowed, costs, least, most float64 }{
		{allowed: 3, costs: 1, least: 1, most: 1},
		{allowed: 3, costs: 3, least: 3, most: 3},
		{allowed: 3, costs: 4, least: 1.8, most: 3.1}, // at most what was saved up
		{allowed: 3, costs: 50, least: 1.5, most: 3.1},
		{allowed: 3, costs: 95, least: 2.8, most: 3.1},
		{allowed: 0.5, costs: 95, least: 0.4, most: 0.6},
		{allowed: 0, costs: 95, least: 95, most: 95},
	} {
		begun := time.Unix(1e9, 0)
		a := &allowance{percent: c.allowed, at: begun}
		took, runs, waits := 0.0, true, 0
		const seconds = 3600
		for s := range seconds {
			now := begun.Add(time.Duration(s+1) * time.Second)
			if runs {
				took += c.costs
				runs, waits = !a.spend(now, c.costs), 0
			} else if waits++; waits >= suspension && !a.indebted(now) {
				runs = true
			}
		}
		if average := took / seconds; average < c.least || average > c.most {
			t.Errorf("%g%% are allowed: a session that takes %g%% takes %.3g%% on average, want %g to %g", c.allowed, c.costs, average, c.least, c.most)
		}
	}
}
