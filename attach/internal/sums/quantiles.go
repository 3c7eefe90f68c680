package sums

import (
	"math"

	"github.com/go-usdt/usdt/attach/internal/bind"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/order"
	"github.com/go-usdt/usdt/total"
)

// quantilesOf returns the quantiles that fine buckets show. number makes a value of bits.
func quantilesOf(l *bind.Layout, words []uint64, number func(bits uint64) any) []total.Quantile {
	values := l.Wanted.Values()
	fine := words[values.FineAt():]
	var n uint64
	for _, c := range fine {
		n += c
	}
	var all []total.Quantile
	for _, percent := range l.Wanted.Quantiles {
		bucket := 0
		for left := rank(percent, n); bucket < len(fine)-1 && fine[bucket] < left; bucket++ {
			left -= fine[bucket]
		}
		all = append(all, total.Quantile{Percent: percent, Value: number(query.FineMiddle(bucket, l.Value.Kind))})
	}
	return all
}

// clamp moves quantiles, which are middles of buckets, between the least and the greatest
// value if these are known.
func clamp(g *total.Group) {
	for i := range g.Quantiles {
		v := &g.Quantiles[i].Value
		if g.Min != nil && order.Args(event.Arg{Value: *v}, event.Arg{Value: g.Min}) < 0 {
			*v = g.Min
		}
		if g.Max != nil && order.Args(event.Arg{Value: *v}, event.Arg{Value: g.Max}) > 0 {
			*v = g.Max
		}
	}
}

// rank returns which of n values in their order, from 1 on, is a quantile.
func rank(percent float64, n uint64) uint64 {
	// Less than the rounding error of a percentage: 99.9 % of 1000 are 999.
	r := math.Ceil(percent / 100 * float64(n) * (1 - 1e-14))
	return min(max(uint64(r), 1), n)
}
