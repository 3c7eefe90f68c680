package codegen

import (
	"github.com/cilium/ebpf/asm"

	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/reader"
)

// divisions put the index of a value's bucket of a histogram into R2. They change R0, R1, R3 and
// regValue.
var divisions = [query.Divisions]func(*generator, *query.Aggregate){
	query.ByPowers:   byFractions(0),
	query.ByHalves:   byFractions(1),
	query.ByQuarters: byFractions(2),
	query.ByEighths:  byFractions(3),
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

// powerRank puts the rank of the value, as query.PowerRank has it, into R2, and -1 into R1 if the value
// is negative, otherwise 0. It changes R3 and regValue.
func (g *generator) powerRank(in *query.Input) {
	done := g.newLabel("rank")
	g.emit(asm.Mov.Imm(asm.R1, 0))
	if query.Signed(in.Kind) {
		if in.Kind == reader.Float { // there is a negative zero
			g.emit(asm.Mov.Imm(asm.R2, 0), asm.Mov.Reg(asm.R3, regValue), asm.LSh.Imm(asm.R3, 1), asm.JEq.Imm(asm.R3, 0, done))
		}
		g.emit(asm.Mov.Reg(asm.R1, regValue), asm.ArSh.Imm(asm.R1, 63))
	}
	if in.Kind == reader.Float {
		const bits, bias = 53, 1023
		beyond := g.newLabel("beyond")
		g.emit(
			asm.RSh.Imm(asm.R3, 1), asm.Add.Reg(asm.R3, asm.R1), // a negative number's amount is less by one bit
			asm.RSh.Imm(asm.R3, bits-1),
			asm.JLT.Imm(asm.R3, bias+query.FirstPower, done),
			asm.Mov.Reg(asm.R2, asm.R3), asm.Sub.Imm(asm.R2, bias+query.FirstPower-1),
			asm.JLT.Imm(asm.R2, int32(query.Powers(in.Kind)), beyond),
			asm.Mov.Imm(asm.R2, int32(query.Powers(in.Kind))),
		)
		g.label(beyond)
	} else {
		if query.Signed(in.Kind) {
			g.emit(asm.Xor.Reg(regValue, asm.R1))
		}
		g.emit(asm.Mov.Imm(asm.R2, 0), asm.JEq.Imm(regValue, 0, done), asm.Mov.Imm(asm.R2, 1))
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
}

// byFractions returns the division with 2^scale parts of each power of two.
func byFractions(scale int) func(*generator, *query.Aggregate) {
	return func(g *generator, agg *query.Aggregate) { g.fractionBucket(&agg.Value, scale) }
}

// fractionBucket puts the index of the value's bucket into R2: powerRank finds the power, and fraction its
// part. It changes R0, R1, R3 and regValue.
func (g *generator) fractionBucket(in *query.Input, scale int) {
	if scale > 0 {
		g.emit(asm.Mov.Reg(asm.R0, regValue)) // which powerRank leaves alone
	}
	g.powerRank(in)
	if scale > 0 {
		g.fraction(in, scale)
	}
	if query.Signed(in.Kind) {
		g.emit(asm.Xor.Reg(asm.R2, asm.R1), asm.Add.Imm(asm.R2, int32(query.FractionZero(in.Kind, scale))))
	}
	g.forget(asm.R2)
	g.bound(asm.R2, query.FractionBuckets(in.Kind, scale))
}

// fraction makes the rank of a power of two in R2 the rank of the power's part in which the value in R0 lies. R1 is
// powerRank's. It changes R0 and R3.
func (g *generator) fraction(in *query.Input, scale int) {
	done := g.newLabel("fraction")
	g.emit(asm.JEq.Imm(asm.R2, 0, done))
	if in.Kind == reader.Float {
		g.emit(asm.LSh.Imm(asm.R0, 12))
	} else {
		if query.Signed(in.Kind) {
			g.emit(asm.Xor.Reg(asm.R0, asm.R1), asm.Sub.Reg(asm.R0, asm.R1)) // the amount
		}
		g.emit(
			asm.Mov.Imm(asm.R3, 64), asm.Sub.Reg(asm.R3, asm.R2),
			asm.LSh.Reg(asm.R0, asm.R3), asm.LSh.Imm(asm.R0, 1), // the leading one is shifted out
		)
	}
	if query.Signed(in.Kind) { // a negative power of two is the end of its bucket's amounts
		inside := g.newLabel("inside")
		g.emit(asm.JNE.Imm(asm.R0, 0, inside), asm.Mov.Reg(asm.R0, asm.R1))
		g.label(inside)
	}
	if in.Kind == reader.Float {
		finite := g.newLabel("finite")
		g.emit(asm.JNE.Imm(asm.R2, int32(query.Powers(in.Kind)), finite), asm.Mov.Imm(asm.R0, 0)) // the last has no end, and no parts
		g.label(finite)
	}
	g.emit(asm.Sub.Imm(asm.R2, 1), asm.LSh.Imm(asm.R2, int32(scale)), asm.Add.Imm(asm.R2, 1))
	for _, border := range query.Fractions(scale) {
		g.emit(asm.LoadImm(asm.R3, int64(border), asm.DWord), asm.JLT.Reg(asm.R0, asm.R3, done), asm.Add.Imm(asm.R2, 1))
	}
	g.label(done)
}

// bound shows the verifier that r is less than n, which always holds.
func (g *generator) bound(r asm.Register, n int) {
	bounded := g.newLabel("bounded")
	g.emit(asm.JLT.Imm(r, int32(n), bounded), asm.Mov.Imm(r, int32(n-1)))
	g.label(bounded)
}
