package codegen

import (
	"math"
	"math/bits"

	"github.com/cilium/ebpf/asm"

	"github.com/go-usdt/usdt/reader"
)

// Fine buckets, for quantiles, are log-linear: fineSteps of equal width between one power
// of two and the next, on both sides of zero, so that a bucket's middle is at most
// 1/(2*fineSteps) of a number away from it. Integers less than 2*fineSteps have a bucket
// each. Floating-point numbers below 2^fineFirst count as zero, and the last bucket takes
// all from 2^(fineFirst+finePowers) on; see [MaxWords] for why there are no more.
const (
	fineBits  = 5
	fineSteps = 1 << fineBits

	// The ranks of integers that have 64 bits begin with their fineBits+1 leading
	// ones, shifted down by at most maxShift bits.
	maxShift = 63 - fineBits
	// mostNegative is the rank of 2^63, the greatest amount of a negative integer.
	mostNegative = maxShift*fineSteps + fineSteps

	fineFirst  = -30
	finePowers = 62
	fineFloats = finePowers*fineSteps + 1 // the rank of what is beyond
)

// FineBuckets returns the number of fine buckets for numbers of a kind.
func FineBuckets(kind reader.FieldKind) int {
	switch kind {
	case reader.Float:
		return 2*fineFloats + 1
	case reader.Int:
		return 2*mostNegative + 1
	}
	return (maxShift + 2) * fineSteps
}

// fineZero returns the index of zero's bucket.
func fineZero(kind reader.FieldKind) int {
	switch kind {
	case reader.Float:
		return fineFloats
	case reader.Int:
		return mostNegative
	}
	return 0
}

// FineBucket returns the index of a number's fine bucket; the indices are in the order of
// numbers. The bits are those of [PowerBucket].
func FineBucket(value uint64, kind reader.FieldKind) int {
	zero := fineZero(kind)
	switch {
	case kind == reader.Float:
		rank := int(value<<1>>(53-fineBits)) - (1023+fineFirst)<<fineBits
		rank = min(max(rank+1, 0), fineFloats)
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
	shift := max(bits.Len64(amount)-fineBits-1, 0)
	return shift*fineSteps + int(amount>>shift)
}

// FineMiddle returns the number in the middle of a fine bucket, as FineBucket takes it.
// Of the last bucket of floating-point numbers it is where the bucket begins.
func FineMiddle(i int, kind reader.FieldKind) uint64 {
	rank := i - fineZero(kind)
	amount := max(rank, -rank)
	if kind != reader.Float {
		middle := uint64(amount)
		if amount >= 2*fineSteps {
			shift := amount/fineSteps - 1
			middle = uint64(fineSteps+amount%fineSteps)<<shift + 1<<shift/2
		}
		if rank < 0 {
			return -min(middle, 1<<63)
		}
		return middle
	}
	var middle float64
	switch {
	case amount == fineFloats:
		middle = math.Ldexp(1, fineFirst+finePowers)
	case amount > 0:
		step := amount - 1
		middle = math.Ldexp(1+(float64(step%fineSteps)+0.5)/fineSteps, fineFirst+step/fineSteps)
	}
	if rank < 0 {
		middle = -middle
	}
	return math.Float64bits(middle)
}

// fineBucket puts the index of the value's fine bucket into R2. It changes R1 and R3.
func (g *generator) fineBucket(in *Input) {
	if in.Kind == reader.Float {
		g.fineFloat(in)
	} else {
		g.fineInteger(in)
	}
	if zero := fineZero(in.Kind); zero > 0 {
		positive := g.newLabel("positive")
		g.emit(asm.JSGE.Imm(regValue, 0, positive), asm.Neg.Imm(asm.R2, 0))
		g.label(positive)
		g.emit(asm.Add.Imm(asm.R2, int32(zero)))
	}
	g.forget(asm.R2)
	g.bound(asm.R2, FineBuckets(in.Kind))
}

// fineInteger puts an integer's rank into R2.
func (g *generator) fineInteger(in *Input) {
	g.emit(asm.Mov.Reg(asm.R3, regValue))
	if in.Kind == reader.Int {
		positive := g.newLabel("positive")
		g.emit(asm.JSGE.Imm(asm.R3, 0, positive), asm.Neg.Imm(asm.R3, 0))
		g.label(positive)
	}
	g.emit(asm.Mov.Imm(asm.R2, 0))
	for shift := int32(32); shift > 0; shift /= 2 {
		less := g.newLabel("less")
		g.emit(
			asm.Mov.Reg(asm.R1, asm.R3), asm.RSh.Imm(asm.R1, shift),
			asm.JLT.Imm(asm.R1, fineSteps, less),
			asm.Mov.Reg(asm.R3, asm.R1),
			asm.Add.Imm(asm.R2, shift*fineSteps),
		)
		g.label(less)
	}
	g.emit(asm.Add.Reg(asm.R2, asm.R3))
}

// fineFloat puts a floating-point number's rank into R2: its exponent and the first bits
// of its fraction, which follow each other.
func (g *generator) fineFloat(in *Input) {
	shift, bias := int32(53-fineBits), int32(1023)
	if in.Size == 4 {
		shift, bias = 56-fineBits, 127
	}
	done := g.newLabel("rank")
	g.emit(
		asm.Mov.Imm(asm.R2, 0),
		asm.Mov.Reg(asm.R3, regValue), asm.LSh.Imm(asm.R3, 1), asm.RSh.Imm(asm.R3, shift),
		asm.JLT.Imm(asm.R3, (bias+fineFirst)<<fineBits, done),
		asm.Mov.Reg(asm.R2, asm.R3), asm.Sub.Imm(asm.R2, (bias+fineFirst)<<fineBits-1),
		asm.JLT.Imm(asm.R2, fineFloats, done),
		asm.Mov.Imm(asm.R2, fineFloats),
	)
	g.label(done)
}
