package query

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/go-usdt/usdt/attach/internal/filter"
	"github.com/go-usdt/usdt/reader"
)

// Buckets of a histogram by powers of two: negative numbers, zero, and the
// powers. The powers of floating-point numbers begin with 2^-32; smaller numbers
// count as zero.
const (
	BucketNegative = iota
	BucketZero
	BucketPowers

	FirstPower  = -32
	powers      = 96 // of floating-point numbers; integers need 64
	HistBuckets = BucketPowers + powers
)

// BucketOfPower returns the bounds of bucket i of a histogram by powers of two,
// which counts numbers from lo to less than hi.
func BucketOfPower(i int, kind reader.FieldKind) (lo, hi float64) {
	first := 0
	if kind == reader.Float {
		first = FirstPower
	}
	switch i {
	case BucketNegative:
		return math.Inf(-1), 0
	case BucketZero:
		return 0, math.Ldexp(1, first)
	}
	lo, hi = math.Ldexp(1, first+i-BucketPowers), math.Ldexp(1, first+i-BucketPowers+1)
	if kind == reader.Float && i == HistBuckets-1 {
		hi = math.Inf(1)
	}
	return lo, hi
}

// PowerBucket returns the index of a number's bucket in a histogram by powers of two.
// value is extended to 64 bits by the number's sign; a floating-point number is one of
// 64 bits.
func PowerBucket(value uint64, kind reader.FieldKind) int {
	switch {
	case kind == reader.Float:
		f := math.Float64frombits(value)
		if f < 0 {
			return BucketNegative
		}
		exponent := int(value>>52) - 1023
		if f == 0 || exponent < FirstPower {
			return BucketZero
		}
		return min(BucketPowers+exponent-FirstPower, HistBuckets-1)
	case kind != reader.Uint && kind != reader.Bool && int64(value) < 0:
		return BucketNegative
	case value == 0:
		return BucketZero
	}
	return BucketPowers + bits.Len64(value) - 1
}

// BoundsTable returns the table in which programs look up a value's bucket: the
// bounds as order keys, numbers whose unsigned order is the values', filled up with a key that no
// value exceeds.
func BoundsTable(bounds []float64, kind reader.FieldKind) []byte {
	table := make([]byte, 0, 8*BoundsEntries(len(bounds)))
	for _, b := range bounds {
		table = binary.NativeEndian.AppendUint64(table, orderBound(b, kind))
	}
	for len(table) < cap(table) {
		table = binary.NativeEndian.AppendUint64(table, math.MaxUint64)
	}
	return table
}

// BoundsEntries is the number of entries of a table of n bounds: all that a
// binary search with steps of powers of two can look at.
func BoundsEntries(n int) int { return 1<<bits.Len(uint(n)) - 1 }

// orderBound returns the smallest order key of a value ≥ b, or the greatest key
// if there is no such value.
func orderBound(b float64, kind reader.FieldKind) uint64 {
	switch kind {
	case reader.Float:
		return uint64(filter.FloatOrder(math.Float64bits(b))) ^ 1<<63
	case reader.Int:
		b = math.Ceil(b)
		switch {
		case b < math.MinInt64:
			return 0
		case b >= 1<<63:
			return math.MaxUint64
		}
		return uint64(int64(b)) ^ 1<<63
	}
	b = math.Ceil(b)
	switch {
	case b < 0:
		return 0
	case b >= 1<<64:
		return math.MaxUint64
	}
	return uint64(b)
}
