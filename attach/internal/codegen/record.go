package codegen

import "github.com/cilium/ebpf/asm"

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
	g.readSections()
	g.filter("filtered")
	g.emit(
		asm.LoadMapPtr(asm.R1, g.refs.Ring.FD()),
		asm.Mov.Imm(asm.R2, int32(g.sig.FixedSize())),
		asm.Mov.Imm(asm.R3, 0),
		asm.FnRingbufReserve.Call(),
		asm.JEq.Imm(asm.R0, 0, "lost"),
		asm.Mov.Reg(regRecord, asm.R0),
	)
	g.writeSections()
	g.emit(
		asm.Mov.Reg(asm.R1, regRecord),
		asm.Mov.Imm(asm.R2, 0),
		asm.FnRingbufSubmit.Call(),
	)
	g.emit(asm.Ja.Label("exit"))
}

// emitVariable assembles a record in scratch memory and sends the bytes used.
func (g *generator) emitVariable() {
	unwanted := g.newLabel("unwanted")
	g.takeScratch()
	g.emit(asm.Add.Imm(regRecord, scratchPad))
	g.readSections()
	g.filter(unwanted)
	g.writeSections()
	g.emit(
		asm.LoadMapPtr(asm.R1, g.refs.Ring.FD()),
		asm.Mov.Reg(asm.R2, regRecord),
		asm.Mov.Reg(asm.R3, regCursor),
		asm.Mov.Imm(asm.R4, 0),
		asm.FnRingbufOutput.Call(),
	)
	g.releaseScratch()
	g.emit(
		asm.JNE.Imm(asm.R0, 0, "lost"),
		asm.Ja.Label("exit"),
	)
	if g.sig.Condition != nil {
		g.label(unwanted)
		g.releaseScratch()
		g.emit(asm.Ja.Label("filtered"))
	}
}
