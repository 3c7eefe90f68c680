package codegen

import (
	"math/bits"

	"github.com/cilium/ebpf/asm"

	"github.com/go-usdt/usdt/reader"
)

// Square returns the 128 bits of the square of what a value adds to the sum.
func Square(sum uint64, kind reader.FieldKind) (hi, lo uint64) {
	if isSigned(kind) && int64(sum) < 0 {
		sum = -sum
	}
	return bits.Mul64(sum, sum)
}

// isSigned reports whether what is added to the sum has a sign.
func isSigned(kind reader.FieldKind) bool { return kind == reader.Int || kind == reader.Float }

// AddSquares adds two words, the lower first, to two others.
func AddSquares(sum []uint64, lo, hi uint64) {
	var carry uint64
	sum[0], carry = bits.Add64(sum[0], lo, 0)
	sum[1], _ = bits.Add64(sum[1], hi, carry)
}

// addSquare adds the square of what the value adds to the sum to the two words at off.
// They are added to one after the other, which nobody sees: they are read when no program
// is running. It changes R0 to R3.
func (g *generator) addSquare(kind reader.FieldKind, off int16) {
	g.emit(asm.LoadMem(asm.R1, asm.R10, stackSum, asm.DWord))
	if isSigned(kind) {
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
