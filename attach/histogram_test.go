package attach_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/total"
)

// valuesOf returns the values of each group that were fired.
func valuesOf(number func(aggregateSample) float64, by func(aggregateSample) string) map[string][]float64 {
	values := map[string][]float64{}
	for i := range aggregateEvents {
		s := sample(i)
		key := by(s)
		values[key] = append(values[key], number(s))
	}
	return values
}

// checkHist compares the buckets of a group with the values that were fired, each twice.
func checkHist(t *testing.T, g *total.Group, values []float64, key string) {
	t.Helper()
	for _, b := range g.Hist {
		n := uint64(0)
		for _, v := range values {
			if v >= b.Lo && v < b.Hi {
				n += 2
			}
		}
		if n != b.N {
			t.Errorf("%s: %d values from %g to %g, want %d", key, b.N, b.Lo, b.Hi, n)
		}
	}
}

// TestScale compares histograms by powers of two and their fractions, on both sides of zero, with what was fired.
func TestScale(t *testing.T) { eachWay(t, checkScale) }

func checkScale(t *testing.T) {
	p := startChild(t, "aggregate")
	p.Do("load")
	for value, number := range map[string]func(aggregateSample) float64{
		"status": func(s aggregateSample) float64 { return float64(s.status) },
		"bytes":  func(s aggregateSample) float64 { return float64(s.bytes) },
		"ms":     func(s aggregateSample) float64 { return s.ms },
	} {
		for scale := range attach.MaxScale + 1 {
			a := openAggregate(t, []string{"agg:done"}, attach.Hist(value).Scale(scale), &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
			p.Do("fire 2")
			groups, err := a.Read()
			if err != nil || len(groups) != 1 {
				t.Fatalf("%d groups, error %v", len(groups), err)
			}
			key := fmt.Sprintf("%s, scale %d", value, scale)
			checkHist(t, &groups[0], valuesOf(number, func(aggregateSample) string { return "" })[""], key)
			n := uint64(0)
			for _, b := range groups[0].Hist {
				n += b.N
				ratio := b.Hi / b.Lo
				if b.Lo < 0 {
					ratio = b.Lo / b.Hi
				}
				if b.N > 0 && b.Lo*b.Hi > 0 && math.Abs(ratio-math.Exp2(1/math.Exp2(float64(scale)))) > 1e-9 {
					t.Errorf("%s: a bucket is from %g to %g", key, b.Lo, b.Hi)
				}
			}
			if n != 2*aggregateEvents {
				t.Errorf("%s: %d values in buckets, want %d", key, n, 2*aggregateEvents)
			}
			if err := a.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestBounds compares histograms with bounds of every kind of argument with
// what was fired.
func TestBounds(t *testing.T) { eachWay(t, checkBounds) }

func checkBounds(t *testing.T) {
	p := startChild(t, "aggregate")
	p.Do("load")
	thousand, err := attach.Linear(-250, 250, 0.5)
	if err != nil || len(thousand) != 1001 {
		t.Fatalf("%d bounds, error %v, want %d", len(thousand), err, 1001)
	}
	for _, test := range []struct {
		value  string
		bounds []float64
		number func(aggregateSample) float64
	}{
		{"status", []float64{-2.5, -1, 0, 1.5, 2, 100}, func(s aggregateSample) float64 { return float64(s.status) }},
		{"status", []float64{-1e300, 1e300}, func(s aggregateSample) float64 { return float64(s.status) }},
		{"bytes", []float64{-3, 0.5, 1, 1 << 20, 1 << 40}, func(s aggregateSample) float64 { return float64(s.bytes) }},
		{"ms", []float64{-1e9, -0.1, 0, 1e-300, 0.1, 1 << 20}, func(s aggregateSample) float64 { return s.ms }},
		{"load", []float64{0, 0.1, 0.125, 1e40}, func(s aggregateSample) float64 { return float64(s.load) }},
		{"load", thousand, func(s aggregateSample) float64 { return float64(s.load) }},
	} {
		a := openAggregate(t, []string{"agg:done"}, attach.Hist(test.value).Bounds(test.bounds...), &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
		p.Do("fire 1")
		groups, err := a.Read()
		if err != nil || len(groups) != 1 {
			t.Fatalf("%d groups, error %v", len(groups), err)
		}
		edges := append(append([]float64{math.Inf(-1)}, test.bounds...), math.Inf(1))
		var want []total.Bucket
		for i := range len(edges) - 1 {
			b := total.Bucket{Lo: edges[i], Hi: edges[i+1]}
			for i := range aggregateEvents {
				if v := test.number(sample(i)); v >= b.Lo && v < b.Hi {
					b.N++
				}
			}
			want = append(want, b)
		}
		for len(want) > 0 && want[0].N == 0 {
			want = want[1:]
		}
		for len(want) > 0 && want[len(want)-1].N == 0 {
			want = want[:len(want)-1]
		}
		if d := cmp.Diff(want, groups[0].Hist); d != "" {
			t.Errorf("%s by %v (-want +got):\n%s", test.value, test.bounds, d)
		}
	}
}

// TestLinear checks that a rounding error makes no bucket.
func TestLinear(t *testing.T) {
	for _, test := range []struct {
		lo, hi, step float64
		buckets      int
	}{{0.1, 0.4, 0.1, 3}, {0, 2.1, 0.3, 7}, {0.1, 1.3, 0.3, 4}, {0, 10, 3, 4}, {0, 1, 5, 1}, {0, 1000, 1, 1000}} {
		bounds, err := attach.Linear(test.lo, test.hi, test.step)
		if err != nil || len(bounds) != test.buckets+1 || !slices.IsSorted(bounds) || bounds[0] != test.lo || bounds[test.buckets] != test.hi || bounds[test.buckets-1] >= test.hi {
			t.Errorf("from %g to %g by %g: %v, error %v, want %d buckets", test.lo, test.hi, test.step, bounds, err, test.buckets)
		}
	}
	for _, test := range [][3]float64{{0, 1, math.Inf(1)}, {0, 1, math.NaN()}, {1, 1, 1}, {0, 1, -1}, {0, 1001, 1}} {
		if bounds, err := attach.Linear(test[0], test[1], test[2]); !errors.Is(err, attach.ErrAggregation) {
			t.Errorf("from %g to %g by %g: %v, error %v", test[0], test[1], test[2], bounds, err)
		}
	}
}
