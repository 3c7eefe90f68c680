package codegen

import (
	"github.com/cilium/ebpf/asm"

	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/reader"
)

// addSquare adds the square of what the value adds to the sum to the two words at off.
// They are added to one after the other, which nobody sees: they are read when no program
// is running. It changes R0 to R3.
func (g *generator) addSquare(kind reader.FieldKind, off int16) {
	g.emit(asm.LoadMem(asm.R1, asm.R10, stackSum, asm.DWord))
	if query.SumSigned(kind) {
		positive := g.newLabel("positive")
		g.emit(asm.JSGE.Imm(asm.R1, 0, positive), asm.Neg.Imm(asm.R1, 0))
		g.label(positive)
	}
	// With a and b as the halves: a*a in 2^64, 2*a*b in 2^32, and b*b.
	sum, carry := g.newLabel("sum"), g.newLabel("carry")
	g.emit(
		asm.Mov.Reg(asm.R2, asm.R1), asm.RSh.Imm(asm.R2, 32), // a
		asm.LSh.Imm(asm.R1, 32), asm.RSh.Imm(asm.R1, 32), // b
		asm.Mov.Reg(asm.R3, asm.R2), asm.Mul.Reg(asm.R3, asm.R1), // a*b
		asm.Mul.Reg(asm.R1, asm.R1),
		asm.Mul.Reg(asm.R2, asm.R2),
		asm.Mov.Reg(asm.R0, asm.R3), asm.RSh.Imm(asm.R0, 31), asm.Add.Reg(asm.R2, asm.R0),
		asm.LSh.Imm(asm.R3, 33),
		asm.Add.Reg(asm.R1, asm.R3),
		asm.JGE.Reg(asm.R1, asm.R3, sum),
		asm.Add.Imm(asm.R2, 1),
	)
	g.label(sum)
	g.emit(
		asm.Mov.Reg(asm.R3, asm.R1),
		fetchAdd(regGroup, asm.R1, off), // R1: what was there
		asm.Add.Reg(asm.R3, asm.R1),
		asm.JGE.Reg(asm.R3, asm.R1, carry),
		asm.Add.Imm(asm.R2, 1),
	)
	g.label(carry)
	g.emit(asm.AddAtomic.Mem(regGroup, asm.R2, asm.DWord, off+8))
}
