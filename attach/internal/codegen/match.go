package codegen

import (
	"encoding/binary"
	"math"

	"github.com/cilium/ebpf/asm"

	"github.com/go-usdt/usdt/attach/internal/filter"
	"github.com/go-usdt/usdt/attach/internal/query"
)

// match compares the string area with a pattern. R4 is how much of the string is
// behind the last piece found, R5 its length as far as it is known.
func (g *generator) match(p filter.Pattern, yes, no string) {
	area := int16(g.sig.StringArea())
	first, last := p.Pieces[0], p.Pieces[len(p.Pieces)-1]
	g.emit(asm.LoadMem(asm.R5, regRecord, area, asm.DWord))
	if len(p.Pieces) == 1 {
		g.emit(asm.JNE.Imm(asm.R5, int32(len(first)), no))
		g.compareString(first, regRecord, area+query.StringData, no)
		g.emit(asm.Ja.Label(yes))
		return
	}
	g.emit(asm.JLT.Imm(asm.R5, int32(len(first)), no))
	g.compareString(first, regRecord, area+query.StringData, no)
	middle := p.Pieces[1 : len(p.Pieces)-1]
	if len(middle) == 0 && last == "" {
		g.emit(asm.Ja.Label(yes))
		return
	}
	known := g.newLabel("known")
	g.emit(asm.JLE.Imm(asm.R5, filter.MaxString, known))
	if last != "" {
		g.emit(asm.Ja.Label(no)) // its end is not known
	} else {
		g.emit(asm.Mov.Imm(asm.R5, filter.MaxString))
	}
	g.label(known)
	if len(middle) > 0 {
		g.oneState(no)
	}
	g.emit(asm.Mov.Imm(asm.R4, int32(len(first))))
	for _, piece := range middle {
		g.search(piece, area, no)
	}
	if last != "" {
		g.emit(
			asm.Mov.Reg(asm.R3, asm.R5),
			asm.Sub.Imm(asm.R3, int32(len(last))),
			asm.JSLT.Reg(asm.R3, asm.R4, no),
			asm.JSLT.Imm(asm.R3, 0, no),
			asm.JGT.Imm(asm.R3, filter.MaxString, no),
			asm.Add.Reg(asm.R3, regRecord),
		)
		g.compareString(last, asm.R3, area+query.StringData, no)
	}
	g.emit(asm.Ja.Label(yes))
}

// oneState is put before searches, which the verifier walks through for every
// state in which it arrives: there is one for each length of the string and each
// set of failed reads, unless it is made to forget them. It changes R1 and R2.
func (g *generator) oneState(no string) {
	g.forget(asm.R5)
	g.emit(
		asm.JGT.Imm(asm.R5, filter.MaxString, no), // never jumps
		asm.LoadMem(asm.R2, asm.R10, stackErrors, asm.DWord),
	)
	g.forget(asm.R2)
	g.emit(asm.StoreMem(asm.R10, stackErrors, asm.R2, asm.DWord))
}

// search moves R4 behind the first occurrence of piece in the string at or after
// R4. The number of loop turns is a constant in R0: the verifier walks through
// all of them. R1 is computed from R4 by adding a register: if a constant were
// added, the verifier of Linux 6.12 (kernel/bpf/verifier.c: sync_linked_regs)
// would keep the two linked and in the end refuse the program.
func (g *generator) search(piece string, area int16, no string) {
	turn, next, found := g.newLabel("turn"), g.newLabel("next"), g.newLabel("found")
	g.emit(asm.Mov.Imm(asm.R0, 0))
	g.label(turn)
	g.emit(
		asm.Mov.Imm(asm.R1, int32(len(piece))),
		asm.Add.Reg(asm.R1, asm.R4),
		asm.JGT.Reg(asm.R1, asm.R5, no),
		asm.Mov.Reg(asm.R3, regRecord),
		asm.Add.Reg(asm.R3, asm.R4),
	)
	g.compareString(piece, asm.R3, area+query.StringData, next)
	g.emit(asm.Ja.Label(found))
	g.label(next)
	g.emit(
		asm.Add.Imm(asm.R4, 1),
		asm.Add.Imm(asm.R0, 1),
		asm.JLE.Imm(asm.R0, filter.MaxString, turn),
		asm.Ja.Label(no),
	)
	g.label(found)
	g.emit(asm.Add.Imm(asm.R4, int32(len(piece))))
	g.forget(asm.R4)
	g.emit(asm.JGT.Imm(asm.R4, filter.MaxString, no))
}

// searchCost returns about how many instructions the verifier walks through for
// the searches of a condition, as measured on Linux 6.18.
func searchCost(c *filter.Condition) int {
	if c == nil {
		return 0
	}
	n := searchCost(c.Left) + searchCost(c.Right)
	if last := len(c.Pattern.Pieces) - 1; last > 1 {
		for _, piece := range c.Pattern.Pieces[1:last] {
			n += (filter.MaxString + 1) * (17 + len(piece))
		}
	}
	return n
}

// compareString jumps to differs unless the string s is at base+off. It changes R1, R2.
func (g *generator) compareString(s string, base asm.Register, off int16, differs string) {
	for len(s) > 0 {
		n := 8
		for n > len(s) {
			n /= 2
		}
		var word [8]byte
		copy(word[:n], s)
		value := binary.NativeEndian.Uint64(word[:])
		g.emit(asm.LoadMem(asm.R1, base, off, sizes[uint8(n)]))
		if value <= math.MaxInt32 {
			g.emit(asm.JNE.Imm(asm.R1, int32(value), differs))
		} else {
			g.emit(asm.LoadImm(asm.R2, int64(value), asm.DWord), asm.JNE.Reg(asm.R1, asm.R2, differs))
		}
		s, off = s[n:], off+int16(n)
	}
}
