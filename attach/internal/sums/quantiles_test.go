package sums

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/go-usdt/usdt/attach/internal/bind"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/order"
	"github.com/go-usdt/usdt/reader"
	"github.com/go-usdt/usdt/total"
)

// TestOrderOfQuantiles makes groups of random values that lie close together or far apart: quantiles
// are in order and between the least and the greatest value, whether these are shown or not, the
// outermost are exact, and quantiles within one bucket are not below the average.
func TestOrderOfQuantiles(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	percents := []float64{0, 50, 90, 99, 99.9, 100}
	for range 3000 {
		n, base, spread := 1+random.IntN(300), random.Uint64N(1<<uint(1+random.IntN(45))), random.Uint64N(1<<uint(1+random.IntN(20)))+1
		wanted := query.Computation{Value: "n", Functions: query.Of(query.Avg), Quantiles: percents}
		l := &bind.Layout{Layout: query.Layout{Wanted: wanted, Value: query.Input{Kind: reader.Uint, Size: 8}}}
		words := make([]uint64, l.Words())
		values := wanted.Values()
		places, _ := values.Places(reader.Uint)
		least, most := uint64(math.MaxUint64), uint64(0)
		for range n {
			v := base + random.Uint64N(spread)
			least, most = min(least, v), max(most, v)
			words[query.WordCount]++
			words[query.WordSum] += v
			words[query.WordMin], words[query.WordMax] = max(words[query.WordMin], ^v), max(words[query.WordMax], v)
			query.CellOf(words, places, query.CellFine)[query.FineBucket(v, reader.Uint)]++
		}
		var g total.Group
		w := wordsOf(l, places)
		w.all = words
		decode(&g, nil, w, nil, nil)
		before := least
		for _, q := range g.Quantiles {
			v := q.Value.(uint64)
			if v < before || v > most {
				t.Fatalf("%d values from %d to %d: %s is %d, want at least %d", n, least, most, q.Name(), v, before)
			}
			before = v
			if query.FineBucket(least, reader.Uint) == query.FineBucket(most, reader.Uint) && q.Percent > 50 && float64(v) < g.Avg.(float64) {
				t.Fatalf("%d values from %d to %d: %s is %d, below the average %v", n, least, most, q.Name(), v, g.Avg)
			}
		}
		if order.Args(event.Arg{Value: g.Quantiles[0].Value}, event.Arg{Value: least}) != 0 || before != most {
			t.Fatalf("%d values from %d to %d: p0 and p100 are %v and %d", n, least, most, g.Quantiles[0].Value, before)
		}
	}
}
