package attach

import (
	"encoding/binary"
	"math"

	"github.com/cilium/ebpf/asm"

	"github.com/go-usdt/usdt/attach/internal/filter"
	"github.com/go-usdt/usdt/reader"
)

// where jumps to unwanted unless the signature's condition holds.
func (g *generator) where(unwanted string) {
	if g.sig.where == nil {
		return
	}
	wanted := g.newLabel("wanted")
	g.condition(g.sig.where, wanted, unwanted)
	g.label(wanted)
}

// condition jumps to yes or to no. It changes R0 to R5.
func (g *generator) condition(c *filter.Condition, yes, no string) {
	switch c.Op {
	case filter.And:
		both := g.newLabel("and")
		g.condition(c.Left, both, no)
		g.label(both)
		g.condition(c.Right, yes, no)
	case filter.Or:
		neither := g.newLabel("or")
		g.condition(c.Left, yes, neither)
		g.label(neither)
		g.condition(c.Right, yes, no)
	case filter.Not:
		g.condition(c.Left, no, yes)
	case filter.Match, filter.Miss:
		in := &g.sig.inputs[c.Value.Index]
		g.loadText(in, int16(g.sig.textArea(g.sig.stringLimit())), no)
		if c.Op == filter.Match {
			g.match(c.Pattern, yes, no)
		} else {
			g.match(c.Pattern, no, yes)
		}
	default:
		in := &g.sig.inputs[c.Value.Index]
		g.loadInput(in, no)
		if in.kind == reader.Float {
			g.orderFloat(in, no)
		}
		g.emit(
			asm.LoadImm(asm.R2, int64(c.Bits), asm.DWord),
			jumps[jump{c.Op, c.Signed}].Reg(asm.R1, asm.R2, yes),
			asm.Ja.Label(no),
		)
	}
}

type jump struct {
	op     filter.Op
	signed bool
}

var jumps = map[jump]asm.JumpOp{
	{filter.Equal, false}: asm.JEq, {filter.Equal, true}: asm.JEq,
	{filter.Differs, false}: asm.JNE, {filter.Differs, true}: asm.JNE,
	{filter.Less, false}: asm.JLT, {filter.Less, true}: asm.JSLT,
	{filter.LessEqual, false}: asm.JLE, {filter.LessEqual, true}: asm.JSLE,
	{filter.Greater, false}: asm.JGT, {filter.Greater, true}: asm.JSGT,
	{filter.GreaterEqual, false}: asm.JGE, {filter.GreaterEqual, true}: asm.JSGE,
}

// match compares the text area with a pattern. R4 is how much of the text is
// behind the last piece found, R5 its length as far as it is known.
func (g *generator) match(p filter.Pattern, yes, no string) {
	area := int16(g.sig.textArea(g.sig.stringLimit()))
	first, last := p.Pieces[0], p.Pieces[len(p.Pieces)-1]
	g.emit(asm.LoadMem(asm.R5, regRecord, area, asm.DWord))
	if len(p.Pieces) == 1 {
		g.emit(asm.JNE.Imm(asm.R5, int32(len(first)), no))
		g.compareText(first, regRecord, area+textData, no)
		g.emit(asm.Ja.Label(yes))
		return
	}
	g.emit(asm.JLT.Imm(asm.R5, int32(len(first)), no))
	g.compareText(first, regRecord, area+textData, no)
	middle := p.Pieces[1 : len(p.Pieces)-1]
	if len(middle) == 0 && last == "" {
		g.emit(asm.Ja.Label(yes))
		return
	}
	known := g.newLabel("known")
	g.emit(asm.JLE.Imm(asm.R5, filter.MaxText, known))
	if last != "" {
		g.emit(asm.Ja.Label(no)) // its end is not known
	} else {
		g.emit(asm.Mov.Imm(asm.R5, filter.MaxText))
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
			asm.JGT.Imm(asm.R3, filter.MaxText, no),
			asm.Add.Reg(asm.R3, regRecord),
		)
		g.compareText(last, asm.R3, area+textData, no)
	}
	g.emit(asm.Ja.Label(yes))
}

// oneState is put before searches, which the verifier walks through for every
// state in which it arrives: it tells apart how long the text is and which reads
// have failed, unless it is made to forget that. It changes R1 and R2.
func (g *generator) oneState(no string) {
	g.forget(asm.R5)
	g.emit(
		asm.JGT.Imm(asm.R5, filter.MaxText, no), // it is not
		asm.LoadMem(asm.R2, asm.R10, stackErrors, asm.DWord),
	)
	g.forget(asm.R2)
	g.emit(asm.StoreMem(asm.R10, stackErrors, asm.R2, asm.DWord))
}

// search moves R4 behind the first place from there on where the text has
// piece. The loop's number of turns is a constant in R0: the verifier walks
// through all of them. R1 is made of R4 by adding a register: by a constant, the
// verifier of Linux 6.12 (kernel/bpf/verifier.c: sync_linked_regs) would keep the
// two linked, and in the end refuse the program.
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
	g.compareText(piece, asm.R3, area+textData, next)
	g.emit(asm.Ja.Label(found))
	g.label(next)
	g.emit(
		asm.Add.Imm(asm.R4, 1),
		asm.Add.Imm(asm.R0, 1),
		asm.JLE.Imm(asm.R0, filter.MaxText, turn),
		asm.Ja.Label(no),
	)
	g.label(found)
	g.emit(asm.Add.Imm(asm.R4, int32(len(piece))))
	g.forget(asm.R4)
	g.emit(asm.JGT.Imm(asm.R4, filter.MaxText, no))
}

// forget makes the verifier know nothing of a number, so that it goes only once
// through what follows, whatever the number was. It changes R1.
func (g *generator) forget(r asm.Register) {
	g.emit(
		asm.LoadMem(asm.R1, regContext, 0, asm.DWord),
		asm.Add.Reg(r, asm.R1),
		asm.Sub.Reg(r, asm.R1),
	)
}

// searchCost is about how many instructions the verifier walks through for the
// searches of a condition, as measured on Linux 6.18.
func searchCost(c *filter.Condition) int {
	if c == nil {
		return 0
	}
	n := searchCost(c.Left) + searchCost(c.Right)
	if last := len(c.Pattern.Pieces) - 1; last > 1 {
		for _, piece := range c.Pattern.Pieces[1:last] {
			n += (filter.MaxText + 1) * (17 + len(piece))
		}
	}
	return n
}

// compareText jumps to differs unless text is at base+off. It changes R1, R2.
func (g *generator) compareText(text string, base asm.Register, off int16, differs string) {
	for len(text) > 0 {
		n := 8
		for n > len(text) {
			n /= 2
		}
		var word [8]byte
		copy(word[:n], text)
		value := binary.NativeEndian.Uint64(word[:])
		g.emit(asm.LoadMem(asm.R1, base, off, sizes[uint8(n)]))
		if value <= math.MaxInt32 {
			g.emit(asm.JNE.Imm(asm.R1, int32(value), differs))
		} else {
			g.emit(asm.LoadImm(asm.R2, int64(value), asm.DWord), asm.JNE.Reg(asm.R1, asm.R2, differs))
		}
		text, off = text[n:], off+int16(n)
	}
}
