package codegen

import (
	"github.com/cilium/ebpf/asm"

	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/reader"
)

// divisions put the index of a value's bucket of a histogram into R2. They change R0, R1, R3 and
// regValue.
var divisions = [query.Divisions]func(*generator, *query.Aggregate){
	query.ByPowers:   func(g *generator, agg *query.Aggregate) { g.powerBucket(&agg.Value) },
	query.ByHalves:   fractionBucket(1),
	query.ByQuarters: fractionBucket(2),
	query.ByEighths:  fractionBucket(3),
	query.ByBounds:   func(g *generator, agg *query.Aggregate) { g.searchBucket(&agg.Value, agg.Wanted.Bounds) },
}

// searchBucket puts the number of bounds that are less than or equal to the value
// into R2. It changes R0, R1, R3 and regValue.
func (g *generator) searchBucket(in *query.Input, bounds int) {
	g.orderValue(in)
	g.emit(
		asm.Mov.Reg(regValue, asm.R1),
		asm.LoadMapValue(asm.R3, g.refs.Bounds.FD(), 0),
		asm.Mov.Imm(asm.R2, 0),
	)
	table := query.BoundsEntries(bounds)
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
func (g *generator) powerBucket(in *query.Input) {
	done := g.newLabel("bucket")
	g.emit(asm.Mov.Imm(asm.R2, query.BucketZero))
	if in.Kind == reader.Float { // there is a negative zero
		g.emit(asm.Mov.Reg(asm.R3, regValue), asm.LSh.Imm(asm.R3, 1), asm.JEq.Imm(asm.R3, 0, done))
	} else {
		g.emit(asm.JEq.Imm(regValue, 0, done))
	}
	if in.Kind != reader.Uint && in.Kind != reader.Bool {
		g.emit(asm.Mov.Imm(asm.R2, query.BucketNegative), asm.JSLT.Imm(regValue, 0, done))
	}
	g.emit(asm.Mov.Imm(asm.R2, query.BucketZero))
	if in.Kind == reader.Float {
		const bits, bias = 53, 1023
		highest := g.newLabel("highest")
		g.emit(
			asm.Mov.Reg(asm.R3, regValue), asm.LSh.Imm(asm.R3, 1), asm.RSh.Imm(asm.R3, bits),
			asm.JLT.Imm(asm.R3, bias+query.FirstPower, done),
			asm.Mov.Reg(asm.R2, asm.R3), asm.Sub.Imm(asm.R2, bias+query.FirstPower-query.BucketPowers),
			asm.JLT.Imm(asm.R2, query.HistBuckets, highest),
			asm.Mov.Imm(asm.R2, query.HistBuckets-1),
		)
		g.label(highest)
	} else {
		g.emit(asm.Mov.Imm(asm.R2, query.BucketPowers))
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
	g.bound(asm.R2, query.HistBuckets)
}

// fractionBucket returns the division with 2^scale parts of each power of two: it compares the mantissa
// with the borders, after powerBucket has found the power.
func fractionBucket(scale int) func(*generator, *query.Aggregate) {
	return func(g *generator, agg *query.Aggregate) {
		in := &agg.Value
		done := g.newLabel("fraction")
		g.emit(asm.Mov.Reg(asm.R0, regValue)) // which powerBucket leaves alone
		g.powerBucket(in)
		g.emit(asm.JLT.Imm(asm.R2, query.BucketPowers, done))
		if in.Kind == reader.Float {
			finite := g.newLabel("finite")
			g.emit(
				asm.LSh.Imm(asm.R0, 12),
				asm.JNE.Imm(asm.R2, query.HistBuckets-1, finite),
				asm.Mov.Imm(asm.R0, 0), // the last bucket has no end, and no parts
			)
			g.label(finite)
		} else {
			g.emit(
				asm.Mov.Imm(asm.R3, 63+query.BucketPowers), asm.Sub.Reg(asm.R3, asm.R2),
				asm.LSh.Reg(asm.R0, asm.R3), asm.LSh.Imm(asm.R0, 1), // the leading one is shifted out
			)
		}
		g.emit(asm.Sub.Imm(asm.R2, query.BucketPowers), asm.LSh.Imm(asm.R2, int32(scale)), asm.Add.Imm(asm.R2, query.BucketPowers))
		for _, border := range query.Fractions(scale) {
			g.emit(asm.LoadImm(asm.R3, int64(border), asm.DWord), asm.JLT.Reg(asm.R0, asm.R3, done), asm.Add.Imm(asm.R2, 1))
		}
		g.label(done)
		g.forget(asm.R2)
		g.bound(asm.R2, query.FractionBuckets(scale))
	}
}

// bound shows the verifier that r is less than n, which always holds.
func (g *generator) bound(r asm.Register, n int) {
	bounded := g.newLabel("bounded")
	g.emit(asm.JLT.Imm(r, int32(n), bounded), asm.Mov.Imm(r, int32(n-1)))
	g.label(bounded)
}
