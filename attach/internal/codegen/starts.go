package codegen

import (
	"math"

	"github.com/cilium/ebpf/asm"

	"github.com/go-usdt/usdt/attach/internal/query"
)

// unwantedStart is the bit in a start's time that says that the pair does not
// pass the condition.
const unwantedStart = math.MinInt64

// regStarts holds the address of the starts in place of the site, which is no
// longer needed.
const regStarts = asm.R9

// stamp keeps the time for pop.
func (g *generator) stamp() {
	g.emit(asm.FnKtimeGetNs.Call(), asm.StoreMem(asm.R10, stackClock, asm.R0, asm.DWord))
}

// pairKey writes the key that matches starts and ends.
func (g *generator) pairKey(lost string) (base asm.Register, at int16) {
	agg := g.sig.Aggregate
	g.unlessMissing(lost)
	base, at = g.keyAt(true)
	for i := range agg.Pair {
		g.keyPart(&agg.Pair[i], base, at, lost)
	}
	return base, at
}

// onMap calls a helper with a map and a key.
func (g *generator) onMap(fd int, fn asm.BuiltinFunc, base asm.Register, at int16) {
	g.emit(
		asm.LoadMapPtr(asm.R1, fd),
		asm.Mov.Reg(asm.R2, base), asm.Add.Imm(asm.R2, int32(at)),
		fn.Call(),
	)
}

// unwanted stores the result of the condition at stackSum.
func (g *generator) unwanted() {
	if g.sig.Condition == nil {
		return
	}
	no, known := g.newLabel("no"), g.newLabel("known")
	g.filter(no)
	g.emit(asm.Mov.Imm(asm.R1, 0), asm.Ja.Label(known))
	g.label(no)
	g.emit(asm.LoadImm(asm.R1, unwantedStart, asm.DWord))
	g.label(known)
	g.emit(asm.StoreMem(asm.R10, stackSum, asm.R1, asm.DWord))
}

// slot turns R1, the number of a start, into the address of its time minus
// query.StartsAt, in the starts that base points to.
func (g *generator) slot(base asm.Register) {
	g.emit(
		asm.And.Imm(asm.R1, query.MaxWaiting-1), asm.LSh.Imm(asm.R1, 3),
		asm.Add.Reg(asm.R1, base),
	)
}

// emitStart notes when the event fired, on top of the starts of its key that have
// not ended. A start that does not pass the condition is also kept, so that its end does not take
// another's start. The time is taken last, so that the program's own cost is not counted.
// Where starts do not nest, all take slot 0.
func (g *generator) emitStart(to exits) {
	if g.kind.call {
		g.enterCall(to)
		return
	}
	agg := g.sig.Aggregate
	base, at := g.pairKey(to.lost)
	value, valueAt := g.keyAt(false)
	if agg.StartArgs > 0 && !agg.Whole {
		g.groupKey(value, valueAt)
	}
	g.unwanted()
	if agg.Whole {
		g.assembleStart()
		value, valueAt = regRecord, 0
	}
	fresh := g.newLabel("fresh")
	g.findStarts(base, at, to.lost)
	g.emit(asm.Mov.Reg(regStarts, asm.R0))
	number, forgotten := func() { g.emit(asm.Mov.Imm(asm.R1, 1), fetchAdd(regStarts, asm.R1, 0)) }, int16(CounterTooDeep)
	if agg.Flat {
		number, forgotten = func() { g.emit(asm.Mov.Imm(asm.R1, 0)) }, CounterReplaced
	}
	if agg.StartArgs > 0 {
		number()
		slot := at + int16(agg.PairSize)
		g.emit(
			asm.And.Imm(asm.R1, query.MaxWaiting-1),
			asm.StoreMem(base, slot, asm.R1, asm.DWord),
			asm.Mov.Reg(asm.R3, value), asm.Add.Imm(asm.R3, int32(valueAt)),
			asm.Mov.Imm(asm.R4, 0), // BPF_ANY
		)
		g.onMap(g.refs.StartArgs.FD(), asm.FnMapUpdateElem, base, at)
		if agg.Whole {
			g.emit(asm.JNE.Imm(asm.R0, 0, to.lost)) // otherwise its end would find an earlier record
		}
		number = func() { g.emit(asm.LoadMem(asm.R1, base, slot, asm.DWord)) }
	}
	g.emit(asm.FnKtimeGetNs.Call())
	if g.sig.Condition != nil {
		g.emit(asm.LoadMem(asm.R1, asm.R10, stackSum, asm.DWord), asm.Or.Reg(asm.R0, asm.R1))
	}
	number()
	g.slot(regStarts)
	g.emit(exchange(asm.R1, asm.R0, query.StartsAt))
	if agg.Flat { // behind the time, for which an end looks once there is a start
		g.emit(asm.Mov.Imm(asm.R1, 1), asm.StoreMem(regStarts, 0, asm.R1, asm.DWord))
	}
	g.emit(asm.JEq.Imm(asm.R0, 0, fresh))
	g.count(forgotten)
	g.label(fresh)
	g.count(CounterStarted)
	g.emit(asm.Ja.Label(to.done))
}

// findStarts puts the address of the starts of the key into R0, and creates them
// if the key is new. A key that recurs is usually there.
func (g *generator) findStarts(base asm.Register, at int16, lost string) {
	found := g.newLabel("found")
	if g.sig.Aggregate.Lasting {
		g.onMap(g.refs.Starts.FD(), asm.FnMapLookupElem, base, at)
		g.emit(asm.JNE.Imm(asm.R0, 0, found))
	}
	g.emit(
		asm.LoadMapValue(asm.R3, g.refs.Zeros.FD(), 0),
		asm.Mov.Imm(asm.R4, 1), // BPF_NOEXIST
	)
	g.onMap(g.refs.Starts.FD(), asm.FnMapUpdateElem, base, at)
	g.onMap(g.refs.Starts.FD(), asm.FnMapLookupElem, base, at)
	g.emit(asm.JEq.Imm(asm.R0, 0, lost))
	g.label(found)
}

// popTries is how often others may take starts of the same key, within a few
// instructions, before the program gives up an end.
const popTries = 8

// pop takes the last start of the key, and stores its time at stackLength and its
// slot behind the key. It jumps to unstarted if none waits, or if the end may be that of
// another one which fired before the end's programs were attached.
func (g *generator) pop(base asm.Register, at int16, unstarted string) {
	agg := g.sig.Aggregate
	popped, kept := g.newLabel("popped"), g.newLabel("kept")
	g.onMap(g.refs.Starts.FD(), asm.FnMapLookupElem, base, at)
	g.emit(
		asm.JEq.Imm(asm.R0, 0, unstarted),
		asm.Mov.Reg(asm.R3, asm.R0),
		asm.LoadMem(asm.R0, asm.R3, 0, asm.DWord),
	)
	for range popTries {
		swap := asm.CmpXchg.Mem(asm.R3, asm.R1, asm.DWord, 0)
		swap.Constant = 0xf1 // include/uapi/linux/bpf.h: BPF_CMPXCHG
		g.emit(
			asm.JEq.Imm(asm.R0, 0, unstarted),
			asm.Mov.Reg(asm.R4, asm.R0),
			asm.Mov.Reg(asm.R1, asm.R0), asm.Sub.Imm(asm.R1, 1),
			swap,
			asm.JEq.Reg(asm.R0, asm.R4, popped),
		)
	}
	g.emit(asm.Ja.Label(unstarted))
	g.label(popped)
	g.emit(asm.Sub.Imm(asm.R4, 1))
	if agg.StartArgs > 0 {
		g.emit(
			asm.Mov.Reg(asm.R1, asm.R4), asm.And.Imm(asm.R1, query.MaxWaiting-1),
			asm.StoreMem(base, at+int16(agg.PairSize), asm.R1, asm.DWord),
		)
	}
	g.emit(asm.Mov.Reg(asm.R1, asm.R4))
	g.slot(asm.R3)
	g.emit(
		asm.Mov.Imm(asm.R2, 0),
		exchange(asm.R1, asm.R2, query.StartsAt),
		asm.StoreMem(asm.R10, stackLength, asm.R2, asm.DWord),
	)
	if !agg.Lasting {
		g.emit(asm.JNE.Imm(asm.R4, 0, kept))
		g.onMap(g.refs.Starts.FD(), asm.FnMapDeleteElem, base, at)
		g.label(kept)
	}
	g.emit(
		asm.LoadMem(asm.R2, asm.R10, stackLength, asm.DWord),
		asm.JEq.Imm(asm.R2, 0, unstarted), // more nested than there is room for
	)
	if g.refs.Gate == nil {
		return
	}
	fresh := g.newLabel("fresh")
	g.emit(
		asm.LoadMapValue(asm.R1, g.refs.Gate.FD(), 8),
		asm.LoadMem(asm.R1, asm.R1, 0, asm.DWord),
		asm.Mov.Reg(asm.R3, asm.R2), asm.LSh.Imm(asm.R3, 1), asm.RSh.Imm(asm.R3, 1), // without unwantedStart
		asm.JGE.Reg(asm.R3, asm.R1, fresh),
	)
	g.count(CounterTorn)
	g.emit(asm.Ja.Label(unstarted))
	g.label(fresh)
}

// emitEnd takes the start and adds the time since to a group, unless one of the
// two does not pass the condition.
func (g *generator) emitEnd(to exits) {
	unstarted, dropped, inOrder := g.newLabel("unstarted"), g.newLabel("dropped"), g.newLabel("inorder")
	var base asm.Register
	var at int16
	if g.kind.call {
		g.unwanted()
		g.leaveCall(unstarted)
	} else {
		base, at = g.pairKey(to.lost)
		g.unwanted()
		g.pop(base, at, unstarted)
	}
	if g.sig.Condition != nil {
		g.emit(asm.LoadMem(asm.R1, asm.R10, stackSum, asm.DWord), asm.Or.Reg(asm.R2, asm.R1))
	}
	g.emit(asm.JSLT.Imm(asm.R2, 0, dropped))
	if g.sig.Aggregate.Whole {
		g.emit(asm.StoreMem(asm.R10, stackStarted, asm.R2, asm.DWord))
	}
	g.emit(
		asm.LoadMem(asm.R1, asm.R10, stackClock, asm.DWord),
		asm.Sub.Reg(asm.R1, asm.R2),
		asm.JSGE.Imm(asm.R1, 0, inOrder),
		asm.Mov.Imm(asm.R1, 0), // both fired at the same time, on different CPUs
	)
	g.label(inOrder)
	g.emit(asm.StoreMem(asm.R10, stackClock, asm.R1, asm.DWord))
	g.count(CounterMatched)
	g.countReturn()
	if g.sig.Aggregate.Whole {
		g.emitPair(base, at, to)
	} else {
		g.recall(base, at, to.lost)
		g.addToGroup(to)
	}
	g.label(dropped)
	g.count(CounterDropped)
	g.countReturn()
	g.emit(asm.Ja.Label(to.unwanted))
	g.label(unstarted)
	g.count(CounterUnstarted)
	g.emit(asm.Ja.Label(to.done))
}

// recall copies the arguments that the start has kept into the key of the group.
func (g *generator) recall(base asm.Register, at int16, lost string) {
	agg := g.sig.Aggregate
	if agg.StartArgs == 0 {
		return
	}
	key, keyAt := g.keyAt(false)
	g.clearMarks(key, keyAt)
	g.onMap(g.refs.StartArgs.FD(), asm.FnMapLookupElem, base, at)
	g.emit(asm.JEq.Imm(asm.R0, 0, lost))
	var kept []int
	for i := range agg.Parts {
		part := &agg.Parts[i]
		if part.In.Source != query.InputStart {
			continue
		}
		kept = append(kept, i)
		for word := 0; word < part.Size; word += 8 {
			g.emit(
				asm.LoadMem(asm.R1, asm.R0, int16(part.In.Offset)+int16(word), asm.DWord),
				asm.StoreMem(key, keyAt+int16(part.Offset+word), asm.R1, asm.DWord),
			)
		}
	}
	if agg.Marks > 0 {
		marks := agg.StartArgs - query.MarksSize(len(kept))
		for j, i := range kept {
			to := keyAt + int16(agg.Marks+i/query.MarksInWord*8)
			g.emit(
				asm.LoadMem(asm.R1, asm.R0, int16(marks+j/query.MarksInWord*8), asm.DWord),
				asm.RSh.Imm(asm.R1, int32(j%query.MarksInWord*8)),
				asm.And.Imm(asm.R1, 0xff),
				asm.LSh.Imm(asm.R1, int32(i%query.MarksInWord*8)),
				asm.LoadMem(asm.R2, key, to, asm.DWord),
				asm.Or.Reg(asm.R2, asm.R1),
				asm.StoreMem(key, to, asm.R2, asm.DWord),
			)
		}
	}
	g.onMap(g.refs.StartArgs.FD(), asm.FnMapDeleteElem, base, at)
}
