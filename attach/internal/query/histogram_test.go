package query

import "testing"

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
		before, _ := c.Limits(0, Elapsed.Kind)
		for i := range v.Buckets() {
			lo, hi := c.Limits(i, Elapsed.Kind)
			if lo != before || hi <= lo {
				t.Errorf("division %d: bucket %d is from %g to %g, and the one before ends at %g", d, i, lo, hi, before)
			}
			before = hi
		}
	}
}
