package tally

import (
	"math"
	"sort"

	"github.com/go-usdt/usdt/attach/internal/filter"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/reader"
)

// value returns the value of an event and the amount to add to the sum. It reports
// whether the value could be read and counts.
func (r *reading) value() (bits, sum uint64, ok bool) {
	in := &r.sig.Aggregate.Value
	bits, ok = r.number(in)
	if !ok || in.Kind != reader.Float {
		return bits, bits, ok && !in.Exceeds(bits)
	}
	f := math.Float64frombits(float(bits, in.Size))
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return 0, 0, false
	}
	if !r.sig.Aggregate.Wanted.Sum {
		return bits, 0, true
	}
	sum, ok = fixed(f)
	return bits, sum, ok
}

// fixed returns a number in units of 2^-query.SumFraction, rounded to the nearest
// and halves away from zero. It reports whether the number is less than 2^43.
func fixed(f float64) (uint64, bool) {
	if math.Abs(f) >= 1<<43 {
		return 0, false
	}
	return uint64(int64(math.Round(math.Ldexp(f, query.SumFraction)))), true
}

// order returns the order key of a value: a number whose unsigned order is the
// value's.
func order(in *query.Input, bits uint64) uint64 {
	switch in.Kind {
	case reader.Float:
		return uint64(filter.FloatOrder(bits)) ^ 1<<63
	case reader.Int:
		return bits ^ 1<<63
	}
	return bits
}

// bucket returns the index of a value's bucket. bounds are order keys, none for
// powers of two.
func bucket(in *query.Input, bits uint64, bounds []uint64) int {
	if len(bounds) > 0 {
		key := order(in, bits)
		return sort.Search(len(bounds), func(i int) bool { return bounds[i] > key })
	}
	if in.Kind == reader.Float {
		bits = float(bits, in.Size)
	}
	return query.PowerBucket(bits, in.Kind)
}

// fineBucket returns the index of a value's fine bucket.
func fineBucket(in *query.Input, bits uint64) int {
	if in.Kind == reader.Float {
		bits = float(bits, in.Size)
	}
	return query.FineBucket(bits, in.Kind)
}

// update adds an event's value to the words of a group.
func update(words []uint64, agg *query.Aggregate, bits, sum uint64, bounds []uint64) {
	words[query.WordCount]++
	if !agg.Wanted.Value {
		return
	}
	if agg.Wanted.Sum {
		words[query.WordSum] += sum
	}
	if at := agg.Wanted.SquaresAt(); at >= 0 {
		hi, lo := query.Square(sum, agg.Value.Kind)
		query.AddSquares(words[at:], lo, hi)
	}
	if agg.Wanted.Fine {
		words[agg.Wanted.FineAt()+fineBucket(&agg.Value, bits)]++
	}
	if agg.Wanted.Min || agg.Wanted.Max {
		key := order(&agg.Value, bits)
		if agg.Wanted.Max {
			words[query.WordMax] = max(words[query.WordMax], key)
		}
		if agg.Wanted.Min {
			words[query.WordMin] = max(words[query.WordMin], ^key)
		}
	}
	if agg.Wanted.Hist {
		words[query.WordHist+bucket(&agg.Value, bits, bounds)]++
	}
}
