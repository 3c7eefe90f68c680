package query

import (
	"math"
	"testing"

	"github.com/go-usdt/usdt/reader"
)

// TestDivisions checks that each histogram has all its lines, and that its buckets follow each
// other.
func TestDivisions(t *testing.T) {
	for d := range Divisions {
		if divisions[d].buckets == nil || divisions[d].bucket == nil || divisions[d].limits == nil {
			t.Fatalf("division %d lacks a function", d)
		}
		c := &Computation{Value: "v", Hist: true, Division: d}
		if d == ByBounds {
			c.Bounds = []float64{1, 2.5, 7}
		}
		v := c.Values()
		for _, kind := range []reader.FieldKind{reader.Uint, reader.Int, reader.Float} {
			before, _ := c.Limits(0, kind)
			for i := range v.Buckets(kind) {
				lo, hi := c.Limits(i, kind)
				if d != ByBounds && math.IsInf(hi-lo, 0) { // a part of the last power, of which the first has all
					before = hi
					continue
				}
				if lo != before || hi <= lo {
					t.Errorf("division %d of kind %d: bucket %d is from %g to %g, and the one before ends at %g", d, kind, i, lo, hi, before)
				}
				before = hi
			}
		}
	}
}
