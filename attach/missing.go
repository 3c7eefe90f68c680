package attach

import (
	"encoding/binary"
	"errors"
	"slices"

	"github.com/cilium/ebpf/asm"
	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/event"
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

var (
	errNegative = errors.New("its length is negative")
	errMissing  = errors.New("it cannot be read, for one of many reasons")
)

// marked says that keys have marks: there is a part that may be missing.
func (l *aggregateLayout) marked() bool {
	return slices.ContainsFunc(l.wanted.by, func(name string) bool {
		return !slices.Contains([]string{"pid", "tid", "comm", "probe"}, name)
	})
}

// marksSize is how many bytes the marks of parts take, in whole words.
func marksSize(parts int) int { return 8 * ((parts + marksInWord - 1) / marksInWord) }

// marksAt returns where the marks of parts are, behind a key of that size, and how
// many bytes they take; zero if there are none.
func (l *aggregateLayout) marksAt(size, parts int) (at, bytes int) {
	if !l.marked() {
		return 0, 0
	}
	return size, marksSize(parts)
}

// markMissing marks the parts that can never be read at a site.
func (l *aggregateLayout) markMissing(code *aggregateCode, names []string, sc *schema) {
	for i := range code.parts {
		if part := &code.parts[i]; part.in.source == inputMissing {
			part.mark = l.markOf(sc, names[i])
		}
	}
}

// markOf returns the mark of an argument that can never be read at a site.
func (l *aggregateLayout) markOf(sc *schema, name string) uint8 {
	reason := errTooManyParts // of text whose read would be one too many
	if f, err := sc.resolve(name); err == nil && f.err != nil {
		reason = f.err
	}
	same := func(err error) bool { return err.Error() == reason.Error() }
	i := slices.IndexFunc(l.reasons, same)
	if i < 0 {
		if len(l.reasons) == maxMark-markReason {
			reason = errMissing
		}
		if i = slices.IndexFunc(l.reasons, same); i < 0 {
			i, l.reasons = len(l.reasons), append(l.reasons, reason)
		}
	}
	return uint8(markReason + i)
}

// missingPart returns why part i of a key is missing. A nil error means that it
// lies behind a nil pointer.
func (l *aggregateLayout) missingPart(key []byte, i int) (reason error, missing bool) {
	if !l.marked() {
		return nil, false
	}
	marks := key[len(key)-marksSize(len(l.parts)):]
	word := binary.NativeEndian.Uint64(marks[i/marksInWord*8:])
	switch mark := uint8(word >> (i % marksInWord * 8)); mark {
	case 0:
		return nil, false
	case markFault:
		return event.ErrFault, true
	case markNil:
		return nil, true
	case markNegative:
		return errNegative, true
	default:
		return l.reasons[mark-markReason], true
	}
}

// groupKey puts the key of the event's group together at key+at. Parts that
// cannot be read are marked.
func (g *generator) groupKey(key asm.Register, at int16) {
	agg := g.sig.aggregate
	if agg.keySize == 0 {
		g.emit(asm.StoreImm(asm.R10, stackKey, 0, asm.Word))
		return
	}
	marks := at + int16(agg.marks)
	if agg.role != roleEnd || agg.noted == 0 { // else recall has
		g.clearMarks(key, at)
	}
	for i := range agg.parts {
		part := &agg.parts[i]
		switch {
		case part.in.source == inputMissing:
			g.emit(asm.Mov.Imm(asm.R3, int32(part.mark)))
			g.markPart(part, key, at, marks, i)
		case !g.mayFail(&part.in):
			g.keyPart(part, key, at, "")
		default:
			failed, done := g.newLabel("failed"), g.newLabel("part")
			g.keyPart(part, key, at, failed)
			g.emit(asm.Ja.Label(done))
			g.label(failed)
			g.whyMissing(&part.in)
			g.markPart(part, key, at, marks, i)
			g.label(done)
		}
	}
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

// plainFloat makes equal numbers in R1 equal in their bits, and what is not a
// number, too. It changes R2 and R3.
func (g *generator) plainFloat(in *input) {
	inf := uint64(0x7ff) << 53 // without the sign
	if in.size == 4 {
		inf = 0xff << 56
	}
	nonzero, number := g.newLabel("nonzero"), g.newLabel("number")
	g.emit(
		asm.Mov.Reg(asm.R2, asm.R1),
		asm.LSh.Imm(asm.R2, 1),
		asm.JNE.Imm(asm.R2, 0, nonzero),
		asm.Mov.Imm(asm.R1, 0), // -0
	)
	g.label(nonzero)
	g.emit(
		asm.LoadImm(asm.R3, int64(inf), asm.DWord),
		asm.JLE.Reg(asm.R2, asm.R3, number),
		asm.LoadImm(asm.R1, int64(inf>>1|inf>>2), asm.DWord), // a quiet NaN
	)
	g.label(number)
}
