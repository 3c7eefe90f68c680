package codegen

import (
	"math"
	"slices"

	"github.com/cilium/ebpf/asm"

	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/reader"
)

// aggregateValue stores the value at stackLength, and the amount to add to the
// sum at stackSum. It jumps to unread if there is no value, and to exceeds if it has the sign that
// the others have not.
func (g *generator) aggregateValue(lost, unread, exceeds string) {
	agg := g.sig.Aggregate
	in := &agg.Value
	g.loadInput(in, unread)
	g.unlessExceeds(in, exceeds)
	g.emit(asm.StoreMem(asm.R10, stackLength, asm.R1, asm.DWord))
	if in.Kind != reader.Float {
		g.emit(asm.StoreMem(asm.R10, stackSum, asm.R1, asm.DWord))
		return
	}
	// R1: bits, R2: exponent, R3: mantissa of 53 bits.
	g.emit(
		asm.Mov.Reg(asm.R2, asm.R1), asm.LSh.Imm(asm.R2, 1), asm.RSh.Imm(asm.R2, 53),
		asm.JEq.Imm(asm.R2, 0x7ff, lost), // infinite, or not a number
	)
	if !agg.Wanted.Sum {
		return
	}
	left, shifted, positive, zero := g.newLabel("left"), g.newLabel("shifted"), g.newLabel("positive"), g.newLabel("zero")
	const even = 1023 + 52 - query.SumFraction // the exponent of a number that need not be shifted
	g.emit(
		asm.Mov.Reg(asm.R3, asm.R1), asm.LSh.Imm(asm.R3, 12), asm.RSh.Imm(asm.R3, 12),
		asm.LoadImm(asm.R4, 1<<52, asm.DWord),
		asm.Or.Reg(asm.R3, asm.R4),
		asm.JGE.Imm(asm.R2, even, left),
		asm.JLT.Imm(asm.R2, even-60, zero),
		asm.Mov.Imm(asm.R4, even-1),
		asm.Sub.Reg(asm.R4, asm.R2), // all but one of the bits to drop
		asm.And.Imm(asm.R4, 63),
		asm.RSh.Reg(asm.R3, asm.R4),
		asm.Add.Imm(asm.R3, 1), // round
		asm.RSh.Imm(asm.R3, 1),
		asm.Ja.Label(shifted),
	)
	g.label(zero)
	g.emit(asm.Mov.Imm(asm.R3, 0), asm.Ja.Label(shifted))
	g.label(left)
	g.emit(
		asm.JGT.Imm(asm.R2, even+10, lost), // beyond 2^43
		asm.Sub.Imm(asm.R2, even),
		asm.And.Imm(asm.R2, 63),
		asm.LSh.Reg(asm.R3, asm.R2),
	)
	g.label(shifted)
	g.emit(asm.JSGE.Imm(asm.R1, 0, positive), asm.Neg.Imm(asm.R3, 0))
	g.label(positive)
	g.emit(asm.StoreMem(asm.R10, stackSum, asm.R3, asm.DWord))
}

// adders are the programs that add the value, which regValue holds, to the cells of a group, in the
// order of their code. at is the cell's first word. A program may change R0 to R3.
var adders = []struct {
	cell query.Cell
	add  func(g *generator, agg *query.Aggregate, at int)
}{
	{query.CellSum, (*generator).addToSum},
	{query.CellSquares, func(g *generator, agg *query.Aggregate, at int) { g.addSquare(agg.Value.Kind, int16(8*at)) }},
	{query.CellFine, func(g *generator, agg *query.Aggregate, at int) {
		g.fineBucket(&agg.Value)
		g.addToBucket(at)
	}},
	{query.CellExtremes, (*generator).addExtremes},
	{query.CellHist, func(g *generator, agg *query.Aggregate, at int) {
		divisions[agg.Wanted.Division](g, agg)
		g.addToBucket(at)
	}},
}

// update adds the event to the group. It uses atomics because tasks on one CPU
// may preempt each other within the program.
func (g *generator) update() {
	agg := g.sig.Aggregate
	g.emit(asm.Mov.Imm(asm.R1, 1), asm.AddAtomic.Mem(regGroup, asm.R1, asm.DWord, 8*query.WordCount))
	if !agg.Wanted.Value {
		return
	}
	g.emit(asm.LoadMem(regValue, asm.R10, stackLength, asm.DWord))
	places, _ := agg.Wanted.Places(agg.Value.Kind)
	for _, a := range adders {
		if i := slices.IndexFunc(places, func(p query.Place) bool { return p.Cell == a.cell }); i >= 0 {
			a.add(g, agg, places[i].At)
		}
	}
}

func (g *generator) addToSum(_ *query.Aggregate, at int) {
	g.emit(
		asm.LoadMem(asm.R1, asm.R10, stackSum, asm.DWord),
		asm.AddAtomic.Mem(regGroup, asm.R1, asm.DWord, int16(8*at)),
	)
}

func (g *generator) addExtremes(agg *query.Aggregate, _ int) {
	g.orderValue(&agg.Value)
	if agg.Wanted.Max {
		g.raise(8 * query.WordMax)
	}
	if agg.Wanted.Min {
		g.emit(asm.Xor.Imm(asm.R1, -1))
		g.raise(8 * query.WordMin)
	}
}

// addToBucket counts the value in bucket R2 of the buckets that begin at a word of the group.
func (g *generator) addToBucket(first int) {
	g.emit(
		asm.LSh.Imm(asm.R2, 3),
		asm.Add.Reg(asm.R2, regGroup),
		asm.Mov.Imm(asm.R1, 1),
		asm.AddAtomic.Mem(asm.R2, asm.R1, asm.DWord, int16(8*first)),
	)
}

// orderValue puts the value's order key into R1: a number whose unsigned order is
// the value's. It changes R2 and R3.
func (g *generator) orderValue(in *query.Input) {
	g.emit(asm.Mov.Reg(asm.R1, regValue))
	if in.Kind == reader.Float {
		g.orderFloat(in, "exit") // it is a number
	}
	if in.Kind == reader.Float || in.Kind == reader.Int {
		g.emit(asm.LoadImm(asm.R2, math.MinInt64, asm.DWord), asm.Xor.Reg(asm.R1, asm.R2))
	}
}

// raiseTries is how often another task on this CPU may interfere within a few
// instructions before the program gives up a maximum.
const raiseTries = 8

// raise makes the group's word at off at least R1. It changes R0 and R3.
func (g *generator) raise(off int16) {
	done := g.newLabel("raised")
	g.emit(asm.LoadMem(asm.R0, regGroup, off, asm.DWord))
	for range raiseTries {
		in := asm.CmpXchg.Mem(regGroup, asm.R1, asm.DWord, off)
		in.Constant = 0xf1 // include/uapi/linux/bpf.h: BPF_CMPXCHG
		g.emit(
			asm.JGE.Reg(asm.R0, asm.R1, done),
			asm.Mov.Reg(asm.R3, asm.R0),
			in,
			asm.JEq.Reg(asm.R0, asm.R3, done),
		)
	}
	g.label(done)
}
