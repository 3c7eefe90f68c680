package codegen

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/cilium/ebpf/asm"

	"github.com/go-usdt/usdt/attach/internal/filter"
	"github.com/go-usdt/usdt/reader"
)

// Buckets of a histogram by powers of two: negative numbers, zero, and the
// powers. The powers of floating-point numbers begin with 2^-32; smaller numbers
// count as zero.
const (
	bucketNegative = iota
	bucketZero
	bucketPowers

	firstPower  = -32
	powers      = 96 // of floating-point numbers; integers need 64
	HistBuckets = bucketPowers + powers
)

// BucketOfPower returns the bounds of bucket i of a histogram by powers of two,
// which counts numbers from lo to less than hi.
func BucketOfPower(i int, kind reader.FieldKind) (lo, hi float64) {
	first := 0
	if kind == reader.Float {
		first = firstPower
	}
	switch i {
	case bucketNegative:
		return math.Inf(-1), 0
	case bucketZero:
		return 0, math.Ldexp(1, first)
	}
	lo, hi = math.Ldexp(1, first+i-bucketPowers), math.Ldexp(1, first+i-bucketPowers+1)
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
			return bucketNegative
		}
		exponent := int(value>>52) - 1023
		if f == 0 || exponent < firstPower {
			return bucketZero
		}
		return min(bucketPowers+exponent-firstPower, HistBuckets-1)
	case kind != reader.Uint && kind != reader.Bool && int64(value) < 0:
		return bucketNegative
	case value == 0:
		return bucketZero
	}
	return bucketPowers + bits.Len64(value) - 1
}

// BoundsTable returns the table in which programs look up a value's bucket: the
// bounds as order keys, see [generator.orderValue], filled up with a key that no
// value exceeds.
func BoundsTable(bounds []float64, kind reader.FieldKind, size uint8) []byte {
	table := make([]byte, 0, 8*boundsEntries(len(bounds)))
	for _, b := range bounds {
		table = binary.NativeEndian.AppendUint64(table, orderBound(b, kind, size))
	}
	for len(table) < cap(table) {
		table = binary.NativeEndian.AppendUint64(table, math.MaxUint64)
	}
	return table
}

// boundsEntries is the number of entries of a table of n bounds: all that a
// binary search with steps of powers of two can look at.
func boundsEntries(n int) int { return 1<<bits.Len(uint(n)) - 1 }

// orderBound returns the smallest order key of a value ≥ b, or the greatest key
// if there is no such value.
func orderBound(b float64, kind reader.FieldKind, size uint8) uint64 {
	switch kind {
	case reader.Float:
		bits := math.Float64bits(b)
		if size == 4 {
			narrow := float32(b)
			if float64(narrow) < b {
				narrow = math.Nextafter32(narrow, float32(math.Inf(1)))
			}
			bits = uint64(math.Float32bits(narrow)) << 32
		}
		return uint64(filter.FloatOrder(bits)) ^ 1<<63
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

// searchBucket puts the number of bounds that are less than or equal to the value
// into R2. It changes R0, R1, R3 and regValue.
func (g *generator) searchBucket(in *Input, bounds int) {
	g.orderValue(in)
	g.emit(
		asm.Mov.Reg(regValue, asm.R1),
		asm.LoadMapValue(asm.R3, g.refs.Bounds.FD(), 0),
		asm.Mov.Imm(asm.R2, 0),
	)
	table := boundsEntries(bounds)
	for step := (table + 1) / 2; step > 0; step /= 2 {
		less := g.newLabel("less")
		g.emit(
			asm.Mov.Reg(asm.R0, asm.R2), asm.LSh.Imm(asm.R0, 3), asm.Add.Reg(asm.R0, asm.R3),
			asm.LoadMem(asm.R0, asm.R0, int16(8*(step-1)), asm.DWord),
			asm.JGT.Reg(asm.R0, regValue, less),
			asm.Add.Imm(asm.R2, int32(step)),
		)
		g.label(less)
		g.forget(asm.R2)
		g.emit(asm.And.Imm(asm.R2, int32(table&^(step-1))))
	}
	g.bound(asm.R2, bounds+1)
}

// powerBucket puts the index of the value's bucket into R2. It changes R1, R3
// and regValue.
func (g *generator) powerBucket(in *Input) {
	done := g.newLabel("bucket")
	g.emit(asm.Mov.Imm(asm.R2, bucketZero))
	if in.Kind == reader.Float { // there is a negative zero
		g.emit(asm.Mov.Reg(asm.R3, regValue), asm.LSh.Imm(asm.R3, 1), asm.JEq.Imm(asm.R3, 0, done))
	} else {
		g.emit(asm.JEq.Imm(regValue, 0, done))
	}
	if in.Kind != reader.Uint && in.Kind != reader.Bool {
		g.emit(asm.Mov.Imm(asm.R2, bucketNegative), asm.JSLT.Imm(regValue, 0, done))
	}
	g.emit(asm.Mov.Imm(asm.R2, bucketZero))
	if in.Kind == reader.Float {
		bits, bias := int32(53), int32(1023)
		if in.Size == 4 {
			bits, bias = 56, 127
		}
		highest := g.newLabel("highest")
		g.emit(
			asm.Mov.Reg(asm.R3, regValue), asm.LSh.Imm(asm.R3, 1), asm.RSh.Imm(asm.R3, bits),
			asm.JLT.Imm(asm.R3, bias+firstPower, done),
			asm.Mov.Reg(asm.R2, asm.R3), asm.Sub.Imm(asm.R2, bias+firstPower-bucketPowers),
			asm.JLT.Imm(asm.R2, HistBuckets, highest),
			asm.Mov.Imm(asm.R2, HistBuckets-1),
		)
		g.label(highest)
	} else {
		g.emit(asm.Mov.Imm(asm.R2, bucketPowers))
		for shift := int32(32); shift > 0; shift /= 2 {
			less := g.newLabel("less")
			g.emit(
				asm.Mov.Reg(asm.R3, regValue), asm.RSh.Imm(asm.R3, shift),
				asm.JEq.Imm(asm.R3, 0, less),
				asm.Mov.Reg(regValue, asm.R3),
				asm.Add.Imm(asm.R2, shift),
			)
			g.label(less)
		}
	}
	g.label(done)
	g.forget(asm.R2)
	g.bound(asm.R2, HistBuckets)
}

// bound shows the verifier that r is less than n, which always holds.
func (g *generator) bound(r asm.Register, n int) {
	bounded := g.newLabel("bounded")
	g.emit(asm.JLT.Imm(r, int32(n), bounded), asm.Mov.Imm(r, int32(n-1)))
	g.label(bounded)
}
