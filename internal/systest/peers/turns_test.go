package peers

import (
	"slices"
	"testing"
	"time"
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

// measure returns the nanoseconds of a call in a loop of n.
func (c *contender) measure(n int) float64 {
	begin := time.Now()
	c.loop(n)
	return float64(time.Since(begin)) / float64(n)
}

// turns measures all by turns, since machines are noisy, and reports the median
// of each in nanoseconds a call.
func turns(b *testing.B, rounds int, all []contender) {
	b.Helper()
	for range b.N {
		took := make([][]float64, len(all))
		for range rounds {
			for i, c := range all {
				if c.on != nil {
					c.on()
				}
				ns := c.ns
				if ns == nil {
					ns = c.measure
				}
				took[i] = append(took[i], ns(c.n))
				if c.off != nil {
					c.off()
				}
			}
		}
		for i, c := range all {
			slices.Sort(took[i])
			b.ReportMetric(took[i][rounds/2], c.name+"-ns")
		}
	}
	b.ReportMetric(0, "ns/op") // the metrics count
	b.StopTimer()
}
