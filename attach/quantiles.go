package attach

import (
	"fmt"
	"math"
	"slices"

	"github.com/go-usdt/usdt/attach/internal/bind"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/order"
	"github.com/go-usdt/usdt/total"
)

// Quantiles returns an Aggregation that takes quantiles of an argument, in percent: 50 is
// the median, 99.9 the value that one in a thousand exceeds. The exact quantile is the
// least value that at least so many percent of all values do not exceed.
//
// Values are counted in buckets, 32 from one power of two to the next. A quantile is the
// middle of its bucket, and at most 1/64 of the exact value, 1.6 %, away from that;
// integers from -63 to 63 are exact. Floating-point numbers closer to zero than 2^-30
// count as zero, and those from 2^32 on, 4.3e9, as 2^32. A group takes 16 kB for each CPU
// if the numbers are unsigned, and 32 kB if not.
func Quantiles(arg string, percents ...float64) Aggregation {
	return Aggregation{wanted: query.Computation{Value: arg, Quantiles: append([]float64{}, percents...)}}
}

// checkQuantiles returns a usage error.
func checkQuantiles(percents []float64) error {
	if percents != nil && len(percents) == 0 {
		return fmt.Errorf("%w: no quantile is named, such as 99 for 99 %%", ErrAggregation)
	}
	for i, p := range percents {
		switch {
		case !(p >= 0 && p <= 100):
			return fmt.Errorf("%w: the quantile %s is not between 0 and 100 %%", ErrAggregation, plain(p))
		case slices.Contains(percents[:i], p):
			return fmt.Errorf("%w: the quantile %s is named twice", ErrAggregation, plain(p))
		}
	}
	return nil
}

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
