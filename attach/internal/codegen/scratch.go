package codegen

import (
	"github.com/cilium/ebpf/asm"

	"github.com/go-usdt/usdt/attach/internal/query"
)

// ScratchSlots per CPU: a task that is preempted within a program keeps its
// own, and those that run meanwhile take the next.
const ScratchSlots = 4

// takeScratch sets regRecord to scratch memory that is locked for this program
// run. Without any left the event is lost.
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
