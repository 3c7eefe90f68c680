package query

import (
	"math"
	"math/bits"

	"github.com/go-usdt/usdt/reader"
)

// Fine buckets, for quantiles, are log-linear: FineSteps of equal width between one power
// of two and the next, on both sides of zero, so that a bucket's middle is at most
// 1/(2*FineSteps) of a number away from it. Integers less than 2*FineSteps have a bucket
// each. Floating-point numbers below 2^FineFirst count as zero, and the last bucket takes
// all from 2^(FineFirst+finePowers) on; see [MaxWords] for why there are no more.
const (
	FineBits  = 5
	FineSteps = 1 << FineBits

	// The ranks of integers that have 64 bits begin with their FineBits+1 leading
	// ones, shifted down by at most maxShift bits.
	maxShift = 63 - FineBits
	// mostNegative is the rank of 2^63, the greatest amount of a negative integer.
	mostNegative = maxShift*FineSteps + FineSteps

	FineFirst  = -30
	finePowers = 61
	FineFloats = finePowers*FineSteps + 1 // the rank of what is beyond
)

// FineBuckets returns the number of fine buckets for numbers of a kind.
func FineBuckets(kind reader.FieldKind) int {
	switch kind {
	case reader.Float:
		return 2*FineFloats + 1
	case reader.Int:
		return 2*mostNegative + 1
	}
	return (maxShift + 2) * FineSteps
}

// FineZero returns the index of zero's bucket.
func FineZero(kind reader.FieldKind) int {
	switch kind {
	case reader.Float:
		return FineFloats
	case reader.Int:
		return mostNegative
	}
	return 0
}

// FineBucket returns the index of a number's fine bucket; the indices are in the order of
// numbers. The bits are the ones that [Negative] takes.
func FineBucket(value uint64, kind reader.FieldKind) int {
	zero := FineZero(kind)
	switch {
	case kind == reader.Float:
		rank := int(value<<1>>(53-FineBits)) - (1023+FineFirst)<<FineBits
		rank = min(max(rank+1, 0), FineFloats)
		if int64(value) < 0 {
			return zero - rank
		}
		return zero + rank
	case kind == reader.Int && int64(value) < 0:
		return zero - fineRank(-value)
	}
	return zero + fineRank(value)
}

// fineRank returns the index of an amount's bucket, counted from zero's.
func fineRank(amount uint64) int {
	shift := max(bits.Len64(amount)-FineBits-1, 0)
	return shift*FineSteps + int(amount>>shift)
}

// FineMiddle returns the number in the middle of a fine bucket, as FineBucket takes it.
// For the last bucket of floating-point numbers it returns the bucket's beginning.
func FineMiddle(i int, kind reader.FieldKind) uint64 {
	rank := i - FineZero(kind)
	amount := max(rank, -rank)
	if kind != reader.Float {
		middle := uint64(amount)
		if amount >= 2*FineSteps {
			shift := amount/FineSteps - 1
			middle = uint64(FineSteps+amount%FineSteps)<<shift + 1<<shift/2
		}
		if rank < 0 {
			return -min(middle, 1<<63)
		}
		return middle
	}
	var middle float64
	switch {
	case amount == FineFloats:
		middle = math.Ldexp(1, FineFirst+finePowers)
	case amount > 0:
		step := amount - 1
		middle = math.Ldexp(1+(float64(step%FineSteps)+0.5)/FineSteps, FineFirst+step/FineSteps)
	}
	if rank < 0 {
		middle = -middle
	}
	return math.Float64bits(middle)
}
