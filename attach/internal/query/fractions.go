package query

import (
	"math"
	"math/big"
	"slices"

	"github.com/go-usdt/usdt/reader"
)

// MaxScale is the greatest scale of a histogram by fractions of powers of two.
const MaxScale = 3

// ByScale returns the division with buckets from 2^(k/2^scale) to 2^((k+1)/2^scale): 0 is ByPowers.
func ByScale(scale int) Division { return ByPowers + Division(scale) }

// fractions returns a division by fractions: each power of two has 2^scale buckets, on both sides of zero
// for numbers that have a sign.
func fractions(scale int) (d division) {
	borders := Fractions(scale)
	d.buckets = func(_ *Values, kind reader.FieldKind) int { return FractionBuckets(kind, scale) }
	d.bucket = func(in *Input, bits uint64, _ []uint64) int {
		rank := fractionRank(bits, in.Kind, scale, borders)
		if Negative(bits, in.Kind) {
			rank = ^rank
		}
		return FractionZero(in.Kind, scale) + rank
	}
	d.limits = func(i int, kind reader.FieldKind, _ []float64) (lo, hi float64) {
		rank := i - FractionZero(kind, scale)
		if rank < 0 {
			lo, hi = fractionLimits(^rank, kind, scale)
			return 0 - hi, 0 - lo // which has no -0
		}
		return fractionLimits(rank, kind, scale)
	}
	return d
}

// fractionLimits returns the amounts between which the bucket of a rank lies.
func fractionLimits(rank int, kind reader.FieldKind, scale int) (lo, hi float64) {
	if rank == 0 {
		return powerLimits(0, kind)
	}
	power, part, parts := (rank-1)>>scale, (rank-1)&(1<<scale-1), float64(int(1)<<scale)
	lo, hi = powerLimits(1+power, kind)
	if math.IsInf(hi, 1) { // the last has no parts
		return lo, hi
	}
	if part+1 < 1<<scale {
		hi = lo * math.Exp2(float64(part+1)/parts)
	}
	return lo * math.Exp2(float64(part)/parts), hi
}

// fractionRanks returns how many buckets there are on one side of zero.
func fractionRanks(kind reader.FieldKind, scale int) int { return 1 + Powers(kind)<<scale }

// FractionZero returns the index of the bucket that begins with zero.
func FractionZero(kind reader.FieldKind, scale int) int {
	if !Signed(kind) {
		return 0
	}
	return fractionRanks(kind, scale)
}

// FractionBuckets returns the number of buckets of a histogram by fractions of powers of two.
func FractionBuckets(kind reader.FieldKind, scale int) int {
	return FractionZero(kind, scale) + fractionRanks(kind, scale)
}

// Fractions returns the borders between two powers of two, 2^(k/2^scale), as the bits of their
// mantissas behind the leading one: a number that lies above one has no less.
func Fractions(scale int) []uint64 {
	out := make([]uint64, 0, 1<<scale)
	for k := 1; k < 1<<scale; k++ {
		const precision = 128
		border := new(big.Float).SetMantExp(new(big.Float).SetPrec(precision).SetInt64(1), k) // 2^k
		for range scale {
			border.Sqrt(border)
		}
		border.Sub(border, big.NewFloat(1))
		bits, _ := border.SetMantExp(border, 64).Uint64()
		out = append(out, bits+1) // borders are irrational
	}
	return out
}

// fractionRank returns how far from zero a number's bucket is. See [PowerRank].
func fractionRank(value uint64, kind reader.FieldKind, scale int, borders []uint64) int {
	rank := PowerRank(value, kind)
	if rank == 0 {
		return 0
	}
	power := rank - 1
	negative := Negative(value, kind)
	mantissa := value << 12
	if kind != reader.Float {
		if negative {
			value = -value
		}
		mantissa = value << (63 - power) << 1
	}
	switch {
	case kind == reader.Float && rank == floatPowers: // it has no end
		mantissa = 0
	case mantissa == 0 && negative: // the end of its bucket's amounts
		mantissa = math.MaxUint64
	}
	part, exact := slices.BinarySearch(borders, mantissa)
	if exact {
		part++
	}
	return 1 + power<<scale + part
}
