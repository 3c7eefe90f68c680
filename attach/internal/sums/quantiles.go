package sums

import (
	"math"

	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/order"
	"github.com/go-usdt/usdt/total"
)

// quantiles returns the quantiles that fine buckets show: the middles of their buckets, between the
// least and the greatest value. The first and the last of all values are exact. In the bucket of the
// greatest value, a quantile above the median is not less than the average if that lies there as
// well: most values are then in the upper half.
func (w *words) quantiles(percents []float64) (all []total.Quantile) {
	fine, least, most := w.cell(query.CellFine), w.least(), w.most()
	var upper any // the average, if it is shown
	if w.l.Wanted.Functions.Has(query.Avg) {
		upper = w.upper()
	}
	var n uint64
	for _, c := range fine {
		n += c
	}
	less := func(a, b any) bool { return order.Args(event.Arg{Value: a}, event.Arg{Value: b}) < 0 }
	for _, percent := range percents {
		bucket, above, at := 0, n, rank(percent, n)
		for left := at; bucket < len(fine)-1 && fine[bucket] < left; bucket++ {
			left -= fine[bucket]
			above -= fine[bucket]
		}
		value := w.number(query.FineMiddle(bucket, w.l.Value.Kind))
		if percent > 50 && above == fine[bucket] && less(value, upper) {
			value = upper
		}
		if at == 1 && n > 0 || less(value, least) {
			value = least
		}
		if at == n && n > 0 || less(most, value) {
			value = most
		}
		all = append(all, total.Quantile{Percent: percent, Value: value})
	}
	return all
}

// rank returns which of n values in their order, from 1 on, is a quantile.
func rank(percent float64, n uint64) uint64 {
	// Less than the rounding error of a percentage: 99.9 % of 1000 are 999.
	r := math.Ceil(percent / 100 * float64(n) * (1 - 1e-14))
	return min(max(uint64(r), 1), n)
}
