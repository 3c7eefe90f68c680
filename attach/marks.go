package attach

import (
	"encoding/binary"

	"github.com/cilium/ebpf/asm"
	"github.com/go-usdt/usdt/attach/internal/operand"
)

// Marks say why a part of a group's key is missing, which then is zero. Behind
// the parts, a key has a byte for each of them.
const (
	markFault    = 1 + iota // event.ErrFault
	markNil                 // it lies behind a nil pointer
	markNegative            // its length is less than 0
	markReason              // the first of aggregateLayout.reasons

	marksInWord = 8
	maxMark     = 255
)

// marksSize is how many bytes the marks of parts take, in whole words.
func marksSize(parts int) int { return 8 * ((parts + marksInWord - 1) / marksInWord) }

// markIn returns the mark of part i in a key of that many parts.
func markIn(key []byte, parts, i int) uint8 {
	marks := key[len(key)-marksSize(parts):]
	word := binary.NativeEndian.Uint64(marks[i/marksInWord*8:])
	return uint8(word >> (i % marksInWord * 8))
}

// clearMarks says that no part of the key at key+at is missing.
func (g *generator) clearMarks(key asm.Register, at int16) {
	agg := g.sig.aggregate
	if agg.marks == 0 {
		return
	}
	g.emit(asm.Mov.Imm(asm.R1, 0))
	for i := 0; i < marksSize(len(agg.parts)); i += 8 {
		g.emit(asm.StoreMem(key, at+int16(agg.marks+i), asm.R1, asm.DWord))
	}
}

// mayFail says that reading the input may fail.
func (g *generator) mayFail(in *input) bool {
	switch {
	case in.inBlock(), in.source == inputText:
		return true
	case in.source == inputOperand:
		return g.sig.operands[in.index].Kind == operand.Memory
	}
	return false
}

// markPart clears part i of a key and marks it with R3. It changes R1 and R2.
func (g *generator) markPart(part *groupPart, key asm.Register, at, marks int16, i int) {
	g.emit(asm.Mov.Imm(asm.R1, 0))
	for off := 0; off < part.size; off += 8 {
		g.emit(asm.StoreMem(key, at+int16(part.offset+off), asm.R1, asm.DWord))
	}
	word := marks + int16(i/marksInWord*8)
	g.emit(
		asm.LSh.Imm(asm.R3, int32(i%marksInWord*8)),
		asm.LoadMem(asm.R2, key, word, asm.DWord),
		asm.Or.Reg(asm.R2, asm.R3),
	)
	g.forget(asm.R2)
	g.emit(asm.StoreMem(key, word, asm.R2, asm.DWord))
}

// whyMissing puts the mark of an input that could not be read into R3. It
// changes R1 and R2.
func (g *generator) whyMissing(in *input) {
	done := g.newLabel("why")
	g.emit(asm.Mov.Imm(asm.R3, markFault))
	switch {
	case in.inBlock():
		g.nilOnTheWay(in.offset, done)
	case in.source == inputText && in.text.Sized:
		g.nilOnTheWay(in.text.Length, done)
	case in.source == inputText:
		if g.sig.operands[in.text.Slot].Kind == operand.Memory {
			g.failedRead(in.text.Slot, done)
		}
		pointed := g.newLabel("pointed")
		g.emit(
			asm.LoadMem(asm.R1, regRecord, recordSlot(in.text.Slot), asm.DWord),
			asm.JNE.Imm(asm.R1, 0, pointed),
			asm.Mov.Imm(asm.R3, markNil),
			asm.Ja.Label(done),
		)
		g.label(pointed)
		if in.text.Counted && in.text.LengthSigned {
			if g.sig.operands[in.text.LengthSlot].Kind == operand.Memory {
				g.failedRead(in.text.LengthSlot, done)
			}
			unused := int32(64 - 8*int(in.text.LengthSize))
			g.emit(
				asm.LoadMem(asm.R1, regRecord, recordSlot(in.text.LengthSlot), asm.DWord),
				asm.LSh.Imm(asm.R1, unused),
				asm.JSGE.Imm(asm.R1, 0, done),
				asm.Mov.Imm(asm.R3, markNegative),
			)
		}
	}
	g.label(done)
}

// nilOnTheWay sets R3 to markNil if a pointer is nil on the way to what lies at
// an offset from the start of the block, and jumps to done. Where the read that
// has the pointer failed, the pointer is zero, and it is that read's failure
// that counts.
func (g *generator) nilOnTheWay(off uint32, done string) {
	block := g.sig.BlockRead()
	for read := g.sig.RegionRead(off); read != block; {
		failed, further := g.newLabel("failed"), g.newLabel("further")
		g.failedRead(read, failed)
		g.emit(asm.Ja.Label(done))
		g.label(failed)
		pointer := g.sig.Indirects[read-block-1].Pointer
		g.emit(
			asm.LoadMem(asm.R1, regRecord, int16(g.sig.BlockOffset()+int(pointer)), asm.DWord),
			asm.JNE.Imm(asm.R1, 0, done),
		)
		read = g.sig.RegionRead(pointer)
		g.failedRead(read, further)
		g.emit(asm.Mov.Imm(asm.R3, markNil), asm.Ja.Label(done))
		g.label(further)
	}
}
