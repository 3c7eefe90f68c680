package codegen

import (
	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"github.com/go-usdt/usdt/attach/internal/query"
)

// Registers of the code that aggregates. regEpoch takes the place of regSite.
const (
	regEpoch = asm.R9
	regGroup = asm.R5
	regValue = asm.R4
)

// exits are the labels to which the code of an aggregate jumps at its end.
type exits struct {
	lost, unwanted, done string
}

// emitAggregate adds the event to its group, or makes a start or an end of it.
func (g *generator) emitAggregate() {
	agg := g.sig.Aggregate
	to := exits{"lost", "filtered", "exit"}
	early := g.sig.FiltersEarly()
	if agg.Role != query.RoleNone {
		g.count(CounterFired)
	} else if early {
		g.filter(to.unwanted)
	}
	if g.scratch {
		to = exits{g.newLabel("lost"), g.newLabel("unwanted"), g.newLabel("done")}
		g.takeScratch()
		g.emit(asm.Add.Imm(regRecord, query.ScratchPad))
	}
	if agg.Role == query.RoleEnd {
		g.stamp()
	}
	g.readSections()
	switch agg.Role {
	case query.RoleStart:
		g.emitStart(to)
	case query.RoleEnd:
		g.emitEnd(to)
	default:
		if !early {
			g.filter(to.unwanted)
		}
		g.addToGroup(to)
	}
	if !g.scratch {
		return
	}
	g.label(to.lost)
	g.releaseScratch()
	g.emit(asm.Ja.Label("lost"))
	if g.sig.Filters() && !early {
		g.label(to.unwanted)
		g.releaseScratch()
		g.emit(asm.Ja.Label("filtered"))
	}
	g.label(to.done)
	g.releaseScratch()
	g.emit(asm.Ja.Label("exit"))
}

// addToGroup adds the event to its group and ends.
func (g *generator) addToGroup(to exits) {
	agg := g.sig.Aggregate
	if agg.OnlyCounts() {
		g.countOnly(to)
		return
	}
	g.unlessMissing(to.lost)
	key, at := g.keyAt(false)
	g.groupKey(key, at)
	fault := func() {}
	if agg.Wanted.Value {
		unread, exceeds, emit := g.onValueFault(to.lost)
		fault = emit
		g.aggregateValue(to.lost, unread, exceeds)
	}
	abandon, done := g.newLabel("abandon"), g.newLabel("done")
	g.enter(to.lost)
	g.keepStack(key, at)
	g.findGroup(key, at, abandon)
	g.update()
	g.emit(asm.Ja.Label(done))
	g.label(abandon)
	g.unenter()
	g.count(CounterLost)
	g.label(done)
	g.emit(
		asm.Mov.Reg(asm.R1, regEpoch), asm.LSh.Imm(asm.R1, 3), asm.Add.Reg(asm.R1, regCounters),
		asm.Mov.Imm(asm.R2, 1), fetchAdd(asm.R1, asm.R2, CounterLeft),
		asm.Ja.Label(to.done),
	)
	fault()
}

// countOnly counts the event as one that has fired, which is all that is asked for. There
// is no group. The jump to lost, which the verifier removes, is there because the verifier
// refuses code that nothing reaches.
func (g *generator) countOnly(to exits) {
	g.count(CounterEntered)
	g.emit(asm.Mov.Imm(asm.R1, 0), asm.JNE.Imm(asm.R1, 0, to.lost), asm.Ja.Label(to.done))
}

// unenter takes away, from the events that fired, one that was counted as entered and is
// counted otherwise.
func (g *generator) unenter() {
	if g.sig.Aggregate.Role == query.RoleNone {
		g.uncount(CounterFired)
	}
}

// unlessMissing jumps to lost if a needed argument cannot be read at all. The
// jump is conditional because the verifier refuses code that nothing reaches.
func (g *generator) unlessMissing(lost string) {
	if g.sig.Aggregate.Missing() {
		g.emit(asm.Mov.Imm(asm.R1, 0), asm.JEq.Imm(asm.R1, 0, lost))
	}
}

// enter announces, for the CPU, that the group map in use is being updated. Then
// it reads again which map is in use: the reader that exchanges the maps waits
// only for programs announced by then. This also counts the event, unless it is an end.
func (g *generator) enter(lost string) {
	entered := g.newLabel("entered")
	for range 2 {
		g.emit(
			asm.LoadMapValue(asm.R3, g.refs.Control.FD(), 0),
			asm.LoadMem(regEpoch, asm.R3, 0, asm.DWord),
			asm.And.Imm(regEpoch, 1),
			asm.Mov.Reg(asm.R4, regEpoch), asm.LSh.Imm(asm.R4, 3), asm.Add.Reg(asm.R4, regCounters),
			asm.Mov.Imm(asm.R2, 1), fetchAdd(asm.R4, asm.R2, CounterEntered),
			asm.LoadMem(asm.R1, asm.R3, 0, asm.DWord),
			asm.And.Imm(asm.R1, 1),
			asm.JEq.Reg(asm.R1, regEpoch, entered),
			asm.Mov.Imm(asm.R2, 1), fetchAdd(asm.R4, asm.R2, CounterLeft),
		)
		g.unenter()
	}
	g.emit(asm.Ja.Label(lost))
	g.label(entered)
}

// inEpoch calls a helper with the one of two maps that is in use.
func (g *generator) inEpoch(maps *[2]*ebpf.Map, call func(fd int)) {
	second, joined := g.newLabel("second"), g.newLabel("joined")
	g.emit(asm.JNE.Imm(regEpoch, 0, second))
	call(maps[0].FD())
	g.emit(asm.Ja.Label(joined))
	g.label(second)
	call(maps[1].FD())
	g.label(joined)
}

// findGroup sets regGroup to the group of the key, and creates the group if it is
// new. If the map is full, it takes the group that adds up the others.
func (g *generator) findGroup(key asm.Register, at int16, none string) {
	found := g.newLabel("group")
	lookup := func(key ...asm.Instruction) {
		g.inEpoch(&g.refs.Groups, func(fd int) {
			g.emit(asm.LoadMapPtr(asm.R1, fd))
			g.emit(key...)
			g.emit(asm.FnMapLookupElem.Call())
		})
	}
	own := []asm.Instruction{asm.Mov.Reg(asm.R2, key), asm.Add.Imm(asm.R2, int32(at))}
	lookup(own...)
	if g.sig.Aggregate.KeySize > 0 {
		g.emit(asm.JNE.Imm(asm.R0, 0, found))
		g.inEpoch(&g.refs.Groups, func(fd int) {
			g.emit(
				asm.LoadMapPtr(asm.R1, fd),
				asm.Mov.Reg(asm.R2, key), asm.Add.Imm(asm.R2, int32(at)),
				asm.LoadMapValue(asm.R3, g.refs.Zeros.FD(), 0),
				asm.Mov.Imm(asm.R4, 1), // BPF_NOEXIST
				asm.FnMapUpdateElem.Call(),
			)
		})
		g.count(CounterGroups)
		lookup(own...)
		g.emit(asm.JNE.Imm(asm.R0, 0, found))
		lookup(asm.LoadMapValue(asm.R2, g.refs.Other.FD(), 0))
	}
	g.emit(asm.JEq.Imm(asm.R0, 0, none))
	g.label(found)
	g.emit(asm.Mov.Reg(regGroup, asm.R0))
}
