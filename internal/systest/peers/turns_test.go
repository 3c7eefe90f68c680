package peers

import (
	"testing"

	"github.com/go-usdt/usdt/internal/systest/turns"
)

// contender is something to measure by turns with others.
type contender struct {
	name string
	n    int         // calls of a turn
	loop func(n int) // what is measured, unless ns does that itself
	ns   func(n int) float64
	// on and off, if not nil, are called before and after each turn.
	on, off func()
}

// measure makes one turn, and returns the nanoseconds of a call.
func (c *contender) measure() float64 {
	if c.on != nil {
		c.on()
	}
	if c.off != nil {
		defer c.off()
	}
	if c.ns != nil {
		return c.ns(c.n)
	}
	return turns.PerCall(c.n, c.loop)
}

// byTurns measures all by turns, and reports the median of each in nanoseconds a call.
// It returns the medians by name.
func byTurns(b *testing.B, rounds int, all []contender) map[string]float64 {
	b.Helper()
	medians := map[string]float64{}
	var measure []func() float64
	for i := range all {
		measure = append(measure, all[i].measure)
	}
	for range b.N {
		for i, ns := range turns.Medians(rounds, measure...) {
			medians[all[i].name] = ns
			b.ReportMetric(ns, all[i].name+"-ns")
		}
	}
	b.ReportMetric(0, "ns/op") // the metrics count
	b.StopTimer()
	return medians
}
