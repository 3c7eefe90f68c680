package codegen

import (
	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/internal/record"
)

// stackStarted holds when the start fired, while its end is recorded. Operands are not kept
// on the stack then, but in scratch memory.
const stackStarted = stackSlots - 8

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
		g.addTime()
		g.count(CounterFast)
		g.emit(asm.Ja.Label(to.done))
		g.label(slow)
	}
	unkept, full := g.newLabel("unkept"), g.newLabel("full")
	g.writeSections()
	g.appendStart(base, at, unkept)
	g.addTime()
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

// timesSize is how much room a CPU has in Refs.Times: no two share cache lines.
var timesSize = (8*(query.WordHist+query.FractionBuckets(query.Elapsed.Kind, 0)) + 127) &^ 127

// TimesSpec describes Refs.Times: as the counters, an array with one value, in which each CPU
// has the words of a group.
func TimesSpec(cpus int) *ebpf.MapSpec {
	return &ebpf.MapSpec{Name: "usdt_times", Type: ebpf.Array, KeySize: 4, ValueSize: uint32(cpus * timesSize), MaxEntries: 1}
}

// TimesOf returns the words of a CPU in the value of Refs.Times.
func TimesOf(value []byte, cpu int) []byte { return value[cpu*timesSize:][:timesSize] }

// addTime adds the time at stackClock to the sum over all pairs, if that is asked for.
func (g *generator) addTime() {
	if g.refs.Times == nil {
		return
	}
	g.emit(asm.FnGetSmpProcessorId.Call(), asm.Mov.Reg(asm.R2, asm.R0))
	g.bound(asm.R2, g.refs.CPUs)
	g.emit(
		asm.Mul.Imm(asm.R2, int32(timesSize)),
		asm.LoadMapValue(asm.R5, g.refs.Times.FD(), 0),
		asm.Add.Reg(asm.R5, asm.R2),
		asm.LoadMem(regValue, asm.R10, stackClock, asm.DWord),
		asm.AddAtomic.Mem(asm.R5, regValue, asm.DWord, 8*query.WordSum),
		asm.Mov.Imm(asm.R1, 1),
		asm.AddAtomic.Mem(asm.R5, asm.R1, asm.DWord, 8*query.WordCount),
	)
	g.fractionBucket(&query.Elapsed, 0)
	g.emit(
		asm.LSh.Imm(asm.R2, 3), asm.Add.Reg(asm.R5, asm.R2),
		asm.Mov.Imm(asm.R1, 1),
		asm.AddAtomic.Mem(asm.R5, asm.R1, asm.DWord, 8*query.WordHist),
	)
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
		asm.StoreMem(asm.R1, query.PairLength, asm.R2, asm.DWord),
		asm.LoadMem(asm.R2, asm.R10, stackStarted, asm.DWord),
		asm.StoreMem(asm.R1, query.PairStarted, asm.R2, asm.DWord),
		asm.LoadMem(asm.R2, asm.R10, stackClock, asm.DWord),
		asm.StoreMem(asm.R1, query.PairElapsed, asm.R2, asm.DWord),
		asm.Add.Imm(regCursor, query.PairFooter),
	)
}

// forgetStart removes what the start has kept. A key that comes again will use the place
// again.
func (g *generator) forgetStart(base asm.Register, at int16) {
	if !g.sig.Aggregate.Lasting {
		g.onMap(g.refs.StartArgs.FD(), asm.FnMapDeleteElem, base, at)
	}
}
