package tally

import (
	"math"

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
	f := math.Float64frombits(bits)
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
