package sums

import (
	"github.com/go-usdt/usdt/attach/internal/bind"
	"github.com/go-usdt/usdt/total"
)

// bucketsOf returns the buckets for their counts.
func bucketsOf(l *bind.Layout, counts []uint64) []total.Bucket {
	first, last := len(counts), -1
	for i, n := range counts {
		if n > 0 {
			first, last = min(first, i), i
		}
	}
	var all []total.Bucket
	for i := first; i <= last; i++ {
		lo, hi := l.Wanted.Limits(i, l.Value.Kind)
		all = append(all, total.Bucket{Lo: lo, Hi: hi, N: counts[i]})
	}
	return all
}
