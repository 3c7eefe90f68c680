package attach

import (
	"math"

	"github.com/cilium/ebpf/asm"
	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/reader"
)

// Registers of the code that aggregates; regSite's place is taken by the index
// of the group map in use.
const (
	regEpoch = asm.R9
	regGroup = asm.R5
	regValue = asm.R4
)

// exits are the labels by which the code of an aggregate ends.
type exits struct {
	lost, unwanted, done string
}

// emitAggregate adds the event to its group, or makes a start or an end of it.
func (g *generator) emitAggregate() {
	agg := g.sig.aggregate
	scratch := g.sig.needsScratch()
	to := exits{"lost", "filtered", "exit"}
	if scratch {
		to = exits{g.newLabel("lost"), g.newLabel("unwanted"), g.newLabel("done")}
		g.takeScratch()
		g.emit(asm.Add.Imm(regRecord, scratchPad))
	}
	if agg.role == roleEnd {
		g.stamp()
	}
	g.readAggregated(scratch)
	switch agg.role {
	case roleStart:
		g.emitStart(to)
	case roleEnd:
		g.emitEnd(to)
	default:
		g.where(to.unwanted)
		g.addToGroup(to)
	}
	if !scratch {
		return
	}
	g.label(to.lost)
	g.releaseScratch()
	g.emit(asm.Ja.Label("lost"))
	if g.sig.filters() {
		g.label(to.unwanted)
		g.releaseScratch()
		g.emit(asm.Ja.Label("filtered"))
	}
	g.label(to.done)
	g.releaseScratch()
	g.emit(asm.Ja.Label("exit"))
}

// readAggregated reads what the condition and the aggregate look at.
func (g *generator) readAggregated(scratch bool) {
	for i := range g.sig.operands {
		op := &g.sig.operands[i]
		switch {
		case op.Kind == operand.Memory && scratch:
			g.readOperand(op, i, regRecord, recordSlot(i))
		case op.Kind == operand.Memory:
			g.readOperand(op, i, asm.R10, stackSlot(i))
		case scratch: // a pointer to text is expected there
			g.loadOperand(asm.R3, op)
			g.emit(asm.StoreMem(regRecord, recordSlot(i), asm.R3, asm.DWord))
		}
	}
	g.readBlock(g.sleeps)
	g.readIndirects()
}

// keyAt is the place of the group's key, or of the key of a start and its end.
func (g *generator) keyAt(pair bool) (base asm.Register, at int16) {
	agg := g.sig.aggregate
	size := agg.keySize
	if pair {
		size = agg.room()
	}
	switch {
	case !pair && agg.keySize == 0:
		return asm.R10, stackKey
	case g.sig.needsScratch():
		return regRecord, int16(g.sig.scratchSize(g.sig.stringLimit()) - scratchPad - size)
	}
	return asm.R10, int16(stackGroup - size)
}

// addToGroup adds the event to its group and ends.
func (g *generator) addToGroup(to exits) {
	agg := g.sig.aggregate
	g.unlessMissing(to.lost)
	key, at := g.keyAt(false)
	g.groupKey(key, at)
	if agg.wanted.value {
		g.aggregateValue(to.lost)
	}
	abandon, done := g.newLabel("abandon"), g.newLabel("done")
	g.enter(to.lost)
	g.findGroup(key, at, abandon)
	g.update()
	g.emit(asm.Ja.Label(done))
	g.label(abandon)
	g.count(counterLost)
	g.label(done)
	g.emit(
		asm.Mov.Reg(asm.R1, regEpoch), asm.LSh.Imm(asm.R1, 3), asm.Add.Reg(asm.R1, regCounters),
		asm.Mov.Imm(asm.R2, -1), fetchAdd(asm.R1, asm.R2, counterBusy),
		asm.Ja.Label(to.done),
	)
}

// unlessMissing jumps to lost if what is needed cannot be read at all. The jump
// is conditional for the sake of the verifier, which refuses code that nothing
// reaches.
func (g *generator) unlessMissing(lost string) {
	if g.sig.aggregate.missing() {
		g.emit(asm.Mov.Imm(asm.R1, 0), asm.JEq.Imm(asm.R1, 0, lost))
	}
}

// keyPart stores a part of the key at key+at.
func (g *generator) keyPart(p *groupPart, key asm.Register, at int16, lost string) {
	at += int16(p.offset)
	switch {
	case p.in.source == inputStart: // recall has copied it
	case p.in.source == inputProbe:
		g.emit(
			asm.Mov.Reg(asm.R1, regSite), asm.LSh.Imm(asm.R1, 32), asm.RSh.Imm(asm.R1, 32),
			asm.StoreMem(key, at, asm.R1, asm.DWord),
		)
	case p.in.source == inputComm:
		g.emit(
			asm.Mov.Reg(asm.R1, key), asm.Add.Imm(asm.R1, int32(at)),
			asm.Mov.Imm(asm.R2, keyCommSize),
			asm.FnGetCurrentComm.Call(),
		)
	case p.size == keyTextSize:
		g.keyText(&p.in, at, lost)
	default:
		g.loadInput(&p.in, lost)
		if p.in.kind == reader.Float {
			g.plainFloat(&p.in)
		}
		g.emit(asm.StoreMem(key, at, asm.R1, asm.DWord))
	}
}

// keyText stores text, padded, with its length before it. Longer text has the
// length keyText+1.
func (g *generator) keyText(in *input, at int16, lost string) {
	g.emit(asm.Mov.Imm(asm.R1, 0))
	for off := int16(0); off < keyTextSize; off += 8 {
		g.emit(asm.StoreMem(regRecord, at+off, asm.R1, asm.DWord))
	}
	switch {
	case in.source == inputGoAddr:
		g.loadGoAddr(in, at, lost)
	case in.source != inputText:
		g.emit(asm.Mov.Imm(asm.R1, 0), asm.JEq.Imm(asm.R1, 0, lost))
		return
	case in.text.Sized || in.text.Counted:
		g.loadSized(in, at, keyText, lost)
	default:
		g.loadTerminated(in, at, keyText, lost)
	}
	short := g.newLabel("short")
	g.emit(
		asm.Mov.Imm(asm.R2, 0),
		asm.StoreMem(regRecord, at+textData+keyText, asm.R2, asm.DWord),
		asm.LoadMem(asm.R1, regRecord, at, asm.DWord),
		asm.JLE.Imm(asm.R1, keyText, short),
		asm.Mov.Imm(asm.R1, keyText+1),
		asm.StoreMem(regRecord, at, asm.R1, asm.DWord),
	)
	g.label(short)
}

// aggregateValue leaves the value at stackLength, and what it adds to the sum
// at stackSum.
func (g *generator) aggregateValue(lost string) {
	agg := g.sig.aggregate
	in := &agg.value
	g.loadInput(in, lost)
	g.emit(asm.StoreMem(asm.R10, stackLength, asm.R1, asm.DWord))
	if in.kind != reader.Float {
		g.emit(asm.StoreMem(asm.R10, stackSum, asm.R1, asm.DWord))
		return
	}
	// R1: bits, R2: exponent, R3: mantissa of 53 bits.
	exponent := func() {
		if in.size == 4 {
			g.emit(asm.Mov.Reg(asm.R2, asm.R1), asm.LSh.Imm(asm.R2, 1), asm.RSh.Imm(asm.R2, 56))
		} else {
			g.emit(asm.Mov.Reg(asm.R2, asm.R1), asm.LSh.Imm(asm.R2, 1), asm.RSh.Imm(asm.R2, 53))
		}
	}
	exponent()
	special := int32(0x7ff)
	if in.size == 4 {
		special = 0xff
	}
	g.emit(asm.JEq.Imm(asm.R2, special, lost)) // infinite, or not a number
	if !agg.wanted.sum {
		return
	}
	left, shifted, positive, zero := g.newLabel("left"), g.newLabel("shifted"), g.newLabel("positive"), g.newLabel("zero")
	g.emit(asm.Mov.Reg(asm.R3, asm.R1))
	if in.size == 4 {
		g.emit(asm.LSh.Imm(asm.R3, 9), asm.RSh.Imm(asm.R3, 12)) // 23 bits of fraction, and 29 more
	} else {
		g.emit(asm.LSh.Imm(asm.R3, 12), asm.RSh.Imm(asm.R3, 12))
	}
	g.emit(
		asm.LoadImm(asm.R4, 1<<52, asm.DWord),
		asm.Or.Reg(asm.R3, asm.R4),
	)
	if in.size == 4 {
		g.emit(asm.Add.Imm(asm.R2, 1023-127))
	}
	const even = 1023 + 52 - sumFraction // the exponent of a number that need not be shifted
	g.emit(
		asm.JGE.Imm(asm.R2, even, left),
		asm.JLT.Imm(asm.R2, even-60, zero),
		asm.Mov.Imm(asm.R4, even-1),
		asm.Sub.Reg(asm.R4, asm.R2), // all but one of the bits that go
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

// enter announces, for the CPU, that the group map in use is being updated. It
// asks again afterwards: whoever exchanges the maps waits only for those that
// were announced by then.
func (g *generator) enter(lost string) {
	entered := g.newLabel("entered")
	for range 2 {
		g.emit(
			asm.LoadMapValue(asm.R3, g.maps.control.FD(), 0),
			asm.LoadMem(regEpoch, asm.R3, 0, asm.DWord),
			asm.And.Imm(regEpoch, 1),
			asm.Mov.Reg(asm.R1, regEpoch), asm.LSh.Imm(asm.R1, 3), asm.Add.Reg(asm.R1, regCounters),
			asm.Mov.Imm(asm.R2, 1), fetchAdd(asm.R1, asm.R2, counterBusy),
			asm.LoadMem(asm.R4, asm.R3, 0, asm.DWord),
			asm.And.Imm(asm.R4, 1),
			asm.JEq.Reg(asm.R4, regEpoch, entered),
			asm.Mov.Imm(asm.R2, -1), fetchAdd(asm.R1, asm.R2, counterBusy),
		)
	}
	g.emit(asm.Ja.Label(lost))
	g.label(entered)
}

// fetchAdd is an addition that orders what is before and behind it.
func fetchAdd(dst, src asm.Register, off int16) asm.Instruction {
	in := asm.AddAtomic.Mem(dst, src, asm.DWord, off)
	in.Constant = 0x01 // include/uapi/linux/bpf.h: BPF_ADD | BPF_FETCH
	return in
}

// findGroup sets regGroup to the group of the key, which may be new.
func (g *generator) findGroup(key asm.Register, at int16, none string) {
	found := g.newLabel("group")
	inBoth := func(call func(fd int)) {
		second, joined := g.newLabel("second"), g.newLabel("joined")
		g.emit(asm.JNE.Imm(regEpoch, 0, second))
		call(g.maps.groups[0].FD())
		g.emit(asm.Ja.Label(joined))
		g.label(second)
		call(g.maps.groups[1].FD())
		g.label(joined)
	}
	lookup := func() {
		inBoth(func(fd int) {
			g.emit(
				asm.LoadMapPtr(asm.R1, fd),
				asm.Mov.Reg(asm.R2, key), asm.Add.Imm(asm.R2, int32(at)),
				asm.FnMapLookupElem.Call(),
			)
		})
	}
	lookup()
	if g.sig.aggregate.keySize > 0 {
		g.emit(asm.JNE.Imm(asm.R0, 0, found))
		inBoth(func(fd int) {
			g.emit(
				asm.LoadMapPtr(asm.R1, fd),
				asm.Mov.Reg(asm.R2, key), asm.Add.Imm(asm.R2, int32(at)),
				asm.LoadMapValue(asm.R3, g.maps.zeros.FD(), 0),
				asm.Mov.Imm(asm.R4, 1), // BPF_NOEXIST
				asm.FnMapUpdateElem.Call(),
			)
		})
		lookup()
	}
	g.emit(asm.JEq.Imm(asm.R0, 0, none))
	g.label(found)
	g.emit(asm.Mov.Reg(regGroup, asm.R0))
}

// update adds the event to the group. Programs of tasks on one CPU may preempt
// each other, hence the atomics.
func (g *generator) update() {
	agg := g.sig.aggregate
	g.emit(asm.Mov.Imm(asm.R1, 1), asm.AddAtomic.Mem(regGroup, asm.R1, asm.DWord, 8*wordCount))
	if !agg.wanted.value {
		return
	}
	g.emit(asm.LoadMem(regValue, asm.R10, stackLength, asm.DWord))
	if agg.wanted.sum {
		g.emit(
			asm.LoadMem(asm.R1, asm.R10, stackSum, asm.DWord),
			asm.AddAtomic.Mem(regGroup, asm.R1, asm.DWord, 8*wordSum),
		)
	}
	if agg.wanted.min || agg.wanted.max {
		g.orderValue(&agg.value)
		if agg.wanted.max {
			g.raise(8 * wordMax)
		}
		if agg.wanted.min {
			g.emit(asm.Xor.Imm(asm.R1, -1))
			g.raise(8 * wordMin)
		}
	}
	if agg.wanted.hist {
		if agg.wanted.bounds > 0 {
			g.searchBucket(&agg.value, agg.wanted.bounds)
		} else {
			g.powerBucket(&agg.value)
		}
		g.emit(
			asm.LSh.Imm(asm.R2, 3),
			asm.Add.Reg(asm.R2, regGroup),
			asm.Mov.Imm(asm.R1, 1),
			asm.AddAtomic.Mem(asm.R2, asm.R1, asm.DWord, 8*wordHist),
		)
	}
}

// orderValue puts a number into R1 whose unsigned order is the value's. It
// changes R2 and R3.
func (g *generator) orderValue(in *input) {
	g.emit(asm.Mov.Reg(asm.R1, regValue))
	if in.kind == reader.Float {
		g.orderFloat(in, "exit") // it is a number
	}
	if in.kind == reader.Float || in.kind == reader.Int {
		g.emit(asm.LoadImm(asm.R2, math.MinInt64, asm.DWord), asm.Xor.Reg(asm.R1, asm.R2))
	}
}

// raiseTries is how often another task may get in between on this CPU, within
// a few instructions, until a maximum is given up.
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
