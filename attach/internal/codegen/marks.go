package codegen

import (
	"github.com/cilium/ebpf/asm"

	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/internal/record"
)

// clearMarks marks all parts of the key at key+at as present.
func (g *generator) clearMarks(key asm.Register, at int16) {
	agg := g.sig.Aggregate
	if agg.Marks == 0 {
		return
	}
	g.emit(asm.Mov.Imm(asm.R1, 0))
	for i := 0; i < query.MarksSize(len(agg.Parts)); i += 8 {
		g.emit(asm.StoreMem(key, at+int16(agg.Marks+i), asm.R1, asm.DWord))
	}
}

// mayFail reports whether reading the input may fail.
func (g *generator) mayFail(in *query.Input) bool {
	switch {
	case in.InBlock(), in.Source == query.InputString:
		return true
	case in.Source == query.InputOperand:
		return g.sig.Operands[in.Index].Kind == operand.Memory
	}
	return false
}

// markPart clears part i of a key and marks it with R3. It changes R1 and R2.
func (g *generator) markPart(part *query.Part, key asm.Register, at, marks int16, i int) {
	g.emit(asm.Mov.Imm(asm.R1, 0))
	for off := 0; off < part.Size; off += 8 {
		g.emit(asm.StoreMem(key, at+int16(part.Offset+off), asm.R1, asm.DWord))
	}
	g.setMark(key, marks, i)
}

// setMark marks part i of a key with R3. It changes R1 and R2.
func (g *generator) setMark(key asm.Register, marks int16, i int) {
	word := marks + int16(i/query.MarksInWord*8)
	g.emit(
		asm.LSh.Imm(asm.R3, int32(i%query.MarksInWord*8)),
		asm.LoadMem(asm.R2, key, word, asm.DWord),
		asm.Or.Reg(asm.R2, asm.R3),
	)
	g.forget(asm.R2)
	g.emit(asm.StoreMem(key, word, asm.R2, asm.DWord))
}

// whyMissing puts the mark of an input that could not be read into R3. It
// changes R1 and R2.
func (g *generator) whyMissing(in *query.Input) {
	done := g.newLabel("why")
	if slot := g.heldIn(in); slot >= 0 {
		other, same := g.newLabel("other"), g.newLabel("same")
		g.emit(asm.Mov.Imm(asm.R3, query.MarkOther))
		g.failedRead(slot, other)
		g.emit(asm.Ja.Label(same))
		g.label(other)
		g.emit(asm.Ja.Label(done))
		g.label(same)
	}
	g.emit(asm.Mov.Imm(asm.R3, query.MarkFault))
	switch {
	case in.InBlock():
		g.nilOnTheWay(in.Offset, done)
	case in.Source == query.InputString && in.String.Sized:
		g.nilOnTheWay(in.String.Length, done)
	case in.Source == query.InputString:
		if g.sig.Operands[in.String.Slot].Kind == operand.Memory {
			g.failedRead(in.String.Slot, done)
		}
		pointed := g.newLabel("pointed")
		g.emit(
			asm.LoadMem(asm.R1, regRecord, g.recordSlot(in.String.Slot), asm.DWord),
			asm.JNE.Imm(asm.R1, 0, pointed),
			asm.Mov.Imm(asm.R3, query.MarkNil),
			asm.Ja.Label(done),
		)
		g.label(pointed)
		if in.String.Counted && in.String.LengthSigned {
			if g.sig.Operands[in.String.LengthSlot].Kind == operand.Memory {
				g.failedRead(in.String.LengthSlot, done)
			}
			unused := int32(64 - 8*int(in.String.LengthSize))
			g.emit(
				asm.LoadMem(asm.R1, regRecord, g.recordSlot(in.String.LengthSlot), asm.DWord),
				asm.LSh.Imm(asm.R1, unused),
				asm.JSGE.Imm(asm.R1, 0, done),
				asm.Mov.Imm(asm.R3, query.MarkNegative),
			)
		}
	}
	g.label(done)
}

// nilOnTheWay sets R3 to MarkNil if the block is nil, or a pointer on the way to offset off
// from the start of the block, and then jumps to done. If the read of the pointer
// failed, the pointer is zero, and that read's failure counts.
func (g *generator) nilOnTheWay(off uint32, done string) {
	block := g.sig.BlockRead()
	for read := g.sig.RegionRead(off); read != block; {
		failed, further := g.newLabel("failed"), g.newLabel("further")
		g.failedRead(read, failed)
		g.emit(asm.Ja.Label(done))
		g.label(failed)
		pointer := g.sig.Indirects[read-block-1].Pointer
		g.emit(
			asm.LoadMem(asm.R1, regRecord, g.inBlock(pointer), asm.DWord),
			asm.JNE.Imm(asm.R1, 0, done),
		)
		read = g.sig.RegionRead(pointer)
		g.failedRead(read, further)
		g.emit(asm.Mov.Imm(asm.R3, query.MarkNil), asm.Ja.Label(done))
		g.label(further)
	}
	none := g.newLabel("none")
	g.failedRead(record.NilBlock, none)
	g.emit(asm.Ja.Label(done))
	g.label(none)
	g.emit(asm.Mov.Imm(asm.R3, query.MarkNil))
}

// markSign marks part i of a key, whose value is in R1, if that has the other sign. It changes
// R1 to R3.
func (g *generator) markSign(part *query.Part, key asm.Register, marks int16, i int) {
	if !part.In.MayExceed() {
		return
	}
	fits := g.newLabel("fits")
	g.emit(asm.JSGE.Imm(asm.R1, 0, fits), asm.Mov.Imm(asm.R3, query.MarkSign))
	g.setMark(key, marks, i)
	g.label(fits)
}
