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

// fractions returns a division by fractions: each bucket by powers of two has 2^scale parts.
func fractions(scale int) (d division) {
	borders := Fractions(scale)
	d.buckets = func(*Values) int { return FractionBuckets(scale) }
	d.bucket = func(in *Input, bits uint64, _ []uint64) int { return fractionBucket(bits, in.Kind, scale, borders) }
	d.limits = func(i int, kind reader.FieldKind, _ []float64) (lo, hi float64) {
		if i < BucketPowers {
			return BucketOfPower(i, kind)
		}
		power, part, parts := (i-BucketPowers)>>scale, (i-BucketPowers)&(1<<scale-1), float64(int(1)<<scale)
		lo, hi = BucketOfPower(BucketPowers+power, kind)
		if math.IsInf(hi, 1) { // the last has no parts
			return lo, hi
		}
		if part+1 < 1<<scale {
			hi = lo * math.Exp2(float64(part+1)/parts)
		}
		return lo * math.Exp2(float64(part)/parts), hi
	}
	return d
}

// FractionBuckets returns the number of buckets of a histogram by fractions of powers of two.
func FractionBuckets(scale int) int { return BucketPowers + powers<<scale }

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

// fractionBucket returns the index of a number's bucket. See PowerBucket.
func fractionBucket(value uint64, kind reader.FieldKind, scale int, borders []uint64) int {
	i := PowerBucket(value, kind)
	if i < BucketPowers {
		return i
	}
	power := i - BucketPowers
	mantissa := value << 12
	switch {
	case kind != reader.Float:
		mantissa = value << (63 - power) << 1
	case i == HistBuckets-1: // it has no end
		mantissa = 0
	}
	part, exact := slices.BinarySearch(borders, mantissa)
	if exact {
		part++
	}
	return BucketPowers + power<<scale + part
}
