package sums

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/go-usdt/usdt/attach/internal/bind"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/reader"
	"github.com/go-usdt/usdt/total"
)

// TestWholeSums compares averages and standard deviations of values whose sum 64 bits do not hold, such
// as times of the day in nanoseconds, with those of the values' distances from one of them.
func TestWholeSums(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, test := range []struct {
		name   string
		kind   reader.FieldKind
		base   uint64 // bits of a number
		spread uint64
	}{
		{"times", reader.Int, 1_800_000_000_000_000_000, 1e9},
		{"large", reader.Uint, math.MaxUint64 - 1e6, 1e6},
		{"least", reader.Int, 1 << 63, 1e6},
		{"around zero", reader.Int, math.MaxUint64 - 500, 1e3}, // from -501 on
		{"floats", reader.Float, math.Float64bits(4e12), 1e6},
		{"negative floats", reader.Float, math.Float64bits(-4e12), 1e6},
		{"small", reader.Uint, 0, 1e6},
	} {
		for range 300 {
			n := 1 + random.IntN(1000)
			l := &bind.Layout{Layout: query.Layout{
				Wanted: query.Computation{Value: "n", Functions: query.Of(query.Sum, query.Avg, query.Min, query.Max, query.Stddev)},
				Value:  query.Input{Kind: test.kind, Size: 8},
			}}
			v := l.Wanted.Values()
			places, size := v.Places(test.kind)
			words := make([]uint64, size)
			var sum, squares float64 // of the distances from the base
			base := float64(test.base)
			switch test.kind {
			case reader.Int:
				base = float64(int64(test.base))
			case reader.Float:
				base = math.Float64frombits(test.base)
			}
			for range n {
				distance := random.Uint64N(test.spread)
				sum, squares = sum+float64(distance), squares+float64(distance)*float64(distance)
				a := query.Addend{Values: &v, Value: &l.Value, Bits: test.base + distance, Sum: test.base + distance}
				if test.kind == reader.Float {
					a.Bits = math.Float64bits(base + float64(distance))
					a.Sum = uint64(int64(math.Ldexp(base+float64(distance), query.SumFraction)))
				}
				words[query.WordCount]++
				for _, p := range places {
					p.Add(words, &a)
				}
			}
			w := wordsOf(l, places)
			w.all = words
			var g total.Group
			decode(&g, nil, w, nil, nil)
			mean := sum / float64(n)
			if avg := base + mean; math.Abs(g.Avg.(float64)-avg) > 1e-9*math.Abs(avg) {
				t.Fatalf("%s: %d values have the average %v, want %v", test.name, n, g.Avg, avg)
			}
			if stddev := math.Sqrt(max(squares/float64(n)-mean*mean, 0)); math.Abs(g.Stddev.(float64)-stddev) > 1e-3*float64(test.spread) {
				t.Fatalf("%s: %d values have the standard deviation %v, want %v", test.name, n, g.Stddev, stddev)
			}
			if f, ok := g.Sum.(float64); ok && math.Abs(f-base*float64(n)-sum) > 1e-9*math.Abs(f) {
				t.Fatalf("%s: %d values have the sum %v, want %v", test.name, n, f, base*float64(n)+sum)
			}
		}
	}
}
