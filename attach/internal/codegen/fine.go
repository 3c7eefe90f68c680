package codegen

import (
	"github.com/cilium/ebpf/asm"

	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/reader"
)

// fineBucket puts the index of the value's fine bucket into R2. It changes R1 and R3.
func (g *generator) fineBucket(in *query.Input) {
	if in.Kind == reader.Float {
		g.fineFloat()
	} else {
		g.fineInteger(in)
	}
	if zero := query.FineZero(in.Kind); zero > 0 {
		positive := g.newLabel("positive")
		g.emit(asm.JSGE.Imm(regValue, 0, positive), asm.Neg.Imm(asm.R2, 0))
		g.label(positive)
		g.emit(asm.Add.Imm(asm.R2, int32(zero)))
	}
	g.forget(asm.R2)
	g.bound(asm.R2, query.FineBuckets(in.Kind))
}

// fineInteger puts an integer's rank into R2.
func (g *generator) fineInteger(in *query.Input) {
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
			asm.JLT.Imm(asm.R1, query.FineSteps, less),
			asm.Mov.Reg(asm.R3, asm.R1),
			asm.Add.Imm(asm.R2, shift*query.FineSteps),
		)
		g.label(less)
	}
	g.emit(asm.Add.Reg(asm.R2, asm.R3))
}

// fineFloat puts a floating-point number's rank into R2: its exponent and the first bits
// of its fraction, which follow each other.
func (g *generator) fineFloat() {
	const shift, bias = 53 - query.FineBits, 1023
	done := g.newLabel("rank")
	g.emit(
		asm.Mov.Imm(asm.R2, 0),
		asm.Mov.Reg(asm.R3, regValue), asm.LSh.Imm(asm.R3, 1), asm.RSh.Imm(asm.R3, shift),
		asm.JLT.Imm(asm.R3, (bias+query.FineFirst)<<query.FineBits, done),
		asm.Mov.Reg(asm.R2, asm.R3), asm.Sub.Imm(asm.R2, (bias+query.FineFirst)<<query.FineBits-1),
		asm.JLT.Imm(asm.R2, query.FineFloats, done),
		asm.Mov.Imm(asm.R2, query.FineFloats),
	)
	g.label(done)
}
