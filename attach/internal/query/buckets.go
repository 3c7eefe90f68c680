package query

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/go-usdt/usdt/attach/internal/filter"
	"github.com/go-usdt/usdt/reader"
)

// Floating-point numbers have floatPowers powers of two, from 2^FirstPower on, and the last has no end.
// Integers begin with 2^0.
const (
	FirstPower  = -32
	floatPowers = 88
)

// Signed reports whether numbers of a kind may be less than 0.
func Signed(kind reader.FieldKind) bool { return kind != reader.Uint && kind != reader.Bool }

// Powers returns the number of powers of two that buckets have on one side of zero.
func Powers(kind reader.FieldKind) int {
	switch kind {
	case reader.Float:
		return floatPowers
	case reader.Uint, reader.Bool:
		return 64
	}
	return 63
}

// Negative reports whether a number is less than 0. value is extended to 64 bits by the number's
// sign; a floating-point number is one of 64 bits, and its zero has a sign that does not count.
func Negative(value uint64, kind reader.FieldKind) bool {
	return Signed(kind) && int64(value) < 0 && (kind != reader.Float || value<<1 != 0)
}

// PowerRank returns how far from zero a number's bucket is: 0 below the first power of two, 1 in it,
// and so on. A negative number counts as the amount before its own, because its bucket has its lower
// bound in it, as all do: −4 lies in the bucket from −4 to less than −2.
func PowerRank(value uint64, kind reader.FieldKind) int {
	negative := Negative(value, kind)
	if kind != reader.Float {
		if negative {
			value = ^value
		}
		return bits.Len64(value)
	}
	value = value << 1 >> 1
	if negative {
		value--
	}
	return min(max(int(value>>52)-1023-FirstPower+1, 0), floatPowers)
}

// powerLimits returns the amounts between which the bucket of a rank lies.
func powerLimits(rank int, kind reader.FieldKind) (lo, hi float64) {
	first := 0
	if kind == reader.Float {
		first = FirstPower
	}
	if rank > 0 {
		lo = math.Ldexp(1, first+rank-1)
	}
	if kind == reader.Float && rank == floatPowers {
		return lo, math.Inf(1)
	}
	return lo, math.Ldexp(1, first+rank)
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
