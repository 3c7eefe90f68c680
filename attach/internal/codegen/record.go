package codegen

import (
	"github.com/cilium/ebpf/asm"

	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/internal/kernel"
)

// emitRecord records the event.
func (g *generator) emitRecord() {
	if g.scratch {
		g.emitVariable()
	} else {
		g.emitFixed()
	}
}

// emitFixed sends a record whose size is known, written in place.
func (g *generator) emitFixed() {
	early := g.sig.FiltersEarly()
	if !early {
		g.readSections()
	}
	g.filter("filtered")
	g.sample("filtered")
	if early {
		g.readSections()
	}
	g.takeSignal("filtered")
	full := "lost"
	if g.sig.Signal != 0 {
		full = g.newLabel("full")
	}
	g.emit(
		asm.LoadMapPtr(asm.R1, g.refs.Ring.FD()),
		asm.Mov.Imm(asm.R2, int32(g.sig.BehindHeader(g.sig.FixedSize()))),
		asm.Mov.Imm(asm.R3, 0),
		asm.FnRingbufReserve.Call(),
		asm.JEq.Imm(asm.R0, 0, full),
		asm.Mov.Reg(regRecord, asm.R0),
	)
	g.writeSections()
	g.count(CounterFired) // before anybody can read it
	g.emit(
		asm.Mov.Reg(asm.R1, regRecord),
		asm.Mov.Imm(asm.R2, 0),
		asm.FnRingbufSubmit.Call(),
	)
	g.sendSignal()
	g.emit(kernel.TailCall(regContext, g.refs.Then)...)
	g.emit(asm.Ja.Label("exit"))
	if g.sig.Signal != 0 {
		g.label(full)
		g.dropSignal()
		g.emit(asm.Ja.Label("lost"))
	}
}

// emitVariable assembles a record in scratch memory and sends the bytes used.
func (g *generator) emitVariable() {
	early, sent := g.sig.FiltersEarly(), g.newLabel("sent")
	unwanted := g.newLabel("unwanted")
	if early {
		g.filter("filtered")
		g.sample("filtered")
	}
	g.takeScratch()
	g.emit(asm.Add.Imm(regRecord, query.ScratchPad))
	g.readSections()
	if !early {
		g.filter(unwanted)
		g.sample(unwanted)
	}
	g.writeSections()
	g.takeSignal(unwanted)
	g.count(CounterFired) // before anybody can read it
	g.emit(
		asm.LoadMapPtr(asm.R1, g.refs.Ring.FD()),
		asm.Mov.Reg(asm.R2, regRecord),
		asm.Mov.Reg(asm.R3, regCursor),
		asm.Mov.Imm(asm.R4, 0),
		asm.FnRingbufOutput.Call(),
	)
	g.releaseScratch()
	g.emit(asm.JEq.Imm(asm.R0, 0, sent))
	g.uncount(CounterFired)
	g.dropSignal()
	g.emit(asm.Ja.Label("lost"))
	g.label(sent)
	g.sendSignal()
	g.emit(kernel.TailCall(regContext, g.refs.Then)...)
	g.emit(asm.Ja.Label("exit"))
	if g.sig.Filters() && !early || g.sig.Signal != 0 {
		g.label(unwanted)
		g.releaseScratch()
		g.emit(asm.Ja.Label("filtered"))
	}
}

// sample jumps to unwanted, except for one event in so many, by chance. It changes R0 to R5.
func (g *generator) sample(unwanted string) {
	if g.sig.Sample <= 1 {
		return
	}
	g.emit(
		asm.FnGetPrandomU32.Call(),
		asm.Mod.Imm(asm.R0, int32(g.sig.Sample)),
		asm.JNE.Imm(asm.R0, 0, unwanted),
	)
}

// ScratchSlots is the number of slots per CPU: a task that is preempted within a program keeps
// its slot, and tasks that run meanwhile take the next.
const ScratchSlots = 4

// takeScratch sets regRecord to scratch memory that is locked for this program
// run. If none is left, the event is lost.
func (g *generator) takeScratch() {
	got := g.newLabel("scratch")
	for i := range ScratchSlots {
		next := g.newLabel("next")
		g.emit(
			asm.StoreImm(asm.R10, stackKey, int64(i), asm.Word),
			asm.LoadMapPtr(asm.R1, g.refs.Scratch.FD()),
			asm.Mov.Reg(asm.R2, asm.R10),
			asm.Add.Imm(asm.R2, stackKey),
			asm.FnMapLookupElem.Call(),
			asm.JEq.Imm(asm.R0, 0, "lost"),
			asm.Mov.Reg(regRecord, asm.R0),
			asm.Mov.Imm(asm.R1, 1),
			exchange(regRecord, asm.R1, 0),
		)
		if i == ScratchSlots-1 {
			g.emit(asm.JNE.Imm(asm.R1, 0, "lost"))
			break
		}
		g.emit(asm.JEq.Imm(asm.R1, 0, got))
		g.label(next)
	}
	g.label(got)
}

// releaseScratch unlocks what takeScratch locked. It changes R1.
func (g *generator) releaseScratch() {
	g.emit(
		asm.Mov.Imm(asm.R1, 0),
		asm.StoreMem(regRecord, -query.ScratchPad, asm.R1, asm.DWord),
	)
}
