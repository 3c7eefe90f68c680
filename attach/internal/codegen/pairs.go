package codegen

import (
	"github.com/cilium/ebpf/asm"

	"github.com/go-usdt/usdt/internal/record"
)

// A pair that is recorded takes one place in the ring: the record of its end, the record of
// its start, and a footer. In the records only the time does not count: that of a start is
// taken when its record has been kept, and that of an end before anything is read.
const (
	PairStarted = 0  // u64: when the start fired
	PairElapsed = 8  // u64: nanoseconds from there to the end
	PairLength  = 16 // u64: bytes of the start's record

	PairFooter = 24
)

// stackStarted holds when the start fired, while its end is recorded. Operands are not kept
// on the stack then, but in scratch memory.
const stackStarted = stackSlots - 8

// pairRoom is the number of bytes in which a start's record is kept, or stands behind that
// of its end.
func (s *Signature) pairRoom() int {
	if s.Aggregate == nil || !s.Aggregate.Whole {
		return 0
	}
	return s.Aggregate.StartArgs + PairFooter
}

// LimitRecord lowers the limit of each string until the record has no more than size bytes.
// It reports whether the rest of the record has so few.
func (s *Signature) LimitRecord(size int) bool {
	if n := len(s.Strings); n > 0 {
		s.Limit = max(0, min(s.Limit, (size-s.FixedSize()-s.Stack.Size())/n-1))
	}
	return s.RecordSize() <= size
}

// RecordSize returns the most bytes of a record.
func (s *Signature) RecordSize() int {
	return s.FixedSize() + s.stringsSize() + s.Stack.Size()
}

// assembleStart assembles the record that a start keeps for its end, unless the start does
// not pass the condition. The record's length stands in the place of the time.
func (g *generator) assembleStart() {
	unwanted := g.newLabel("unneeded")
	if g.sig.Condition != nil {
		g.emit(
			asm.LoadMem(asm.R1, asm.R10, stackSum, asm.DWord),
			asm.StoreMem(asm.R10, stackStarted, asm.R1, asm.DWord), // loadTask changes stackSum
			asm.JSLT.Imm(asm.R1, 0, unwanted),
		)
	}
	g.writeSections()
	g.emit(asm.StoreMem(regRecord, record.Time, regCursor, asm.DWord))
	if g.sig.Condition != nil {
		g.label(unwanted)
		g.emit(
			asm.LoadMem(asm.R1, asm.R10, stackStarted, asm.DWord),
			asm.StoreMem(asm.R10, stackSum, asm.R1, asm.DWord),
		)
	}
}

// emitPair records the pair whose time is at stackClock, if it took longer than it has to.
func (g *generator) emitPair(base asm.Register, at int16, to exits) {
	agg := g.sig.Aggregate
	if agg.Slower > 0 {
		slow := g.newLabel("slow")
		g.emit(
			asm.LoadMem(asm.R1, asm.R10, stackClock, asm.DWord),
			asm.LoadImm(asm.R2, int64(agg.Slower), asm.DWord),
			asm.JGT.Reg(asm.R1, asm.R2, slow),
		)
		g.forgetStart(base, at)
		g.count(CounterFast)
		g.emit(asm.Ja.Label(to.done))
		g.label(slow)
	}
	unkept, full := g.newLabel("unkept"), g.newLabel("full")
	g.writeSections()
	g.appendStart(base, at, unkept)
	g.emit(
		asm.LoadMapPtr(asm.R1, g.refs.Ring.FD()),
		asm.Mov.Reg(asm.R2, regRecord),
		asm.Mov.Reg(asm.R3, regCursor),
		asm.Mov.Imm(asm.R4, 0),
		asm.FnRingbufOutput.Call(),
		asm.JNE.Imm(asm.R0, 0, full),
		asm.Ja.Label(to.done),
	)
	g.label(unkept)
	g.count(CounterUnkept)
	g.emit(asm.Ja.Label(to.lost))
	g.label(full)
	g.count(CounterFull)
	g.emit(asm.Ja.Label(to.done))
}

// appendStart copies the record that the start has kept behind that of its end, with the
// footer, and moves regCursor there.
func (g *generator) appendStart(base asm.Register, at int16, unkept string) {
	most := int32(g.sig.Aggregate.StartArgs)
	g.onMap(g.refs.StartArgs.FD(), asm.FnMapLookupElem, base, at)
	g.emit(
		asm.JEq.Imm(asm.R0, 0, unkept),
		asm.LoadMem(asm.R2, asm.R0, record.Time, asm.DWord),
		asm.JGT.Imm(asm.R2, most, unkept),
		asm.StoreMem(asm.R10, stackLength, asm.R2, asm.DWord),
		asm.Mov.Reg(asm.R3, asm.R0),
	)
	g.toCursor()
	g.emit(asm.FnProbeReadKernel.Call())
	g.forgetStart(base, at)
	g.emit(
		asm.LoadMem(asm.R2, asm.R10, stackLength, asm.DWord),
		asm.JGT.Imm(asm.R2, most, unkept), // older verifiers do not remember
		asm.Add.Reg(regCursor, asm.R2),
	)
	g.toCursor()
	g.emit(
		asm.StoreMem(asm.R1, PairLength, asm.R2, asm.DWord),
		asm.LoadMem(asm.R2, asm.R10, stackStarted, asm.DWord),
		asm.StoreMem(asm.R1, PairStarted, asm.R2, asm.DWord),
		asm.LoadMem(asm.R2, asm.R10, stackClock, asm.DWord),
		asm.StoreMem(asm.R1, PairElapsed, asm.R2, asm.DWord),
		asm.Add.Imm(regCursor, PairFooter),
	)
}

// forgetStart removes what the start has kept. A key that comes again will use the place
// again.
func (g *generator) forgetStart(base asm.Register, at int16) {
	if !g.sig.Aggregate.Lasting {
		g.onMap(g.refs.StartArgs.FD(), asm.FnMapDeleteElem, base, at)
	}
}
