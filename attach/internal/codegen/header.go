package codegen

import (
	"github.com/cilium/ebpf/asm"

	"github.com/go-usdt/usdt/internal/record"
)

// header is the section that says which site fired, when, and in which thread.
func header() section { return section{write: (*generator).writeHeader} }

// writeHeader is the last to use regSite, whose register regCursor takes.
func (g *generator) writeHeader() {
	g.emit(asm.StoreMem(regRecord, record.Site, regSite, asm.Word))
	g.writeTime()
	g.writeTask()
	g.writeComm()
	if g.scratch {
		g.emit(asm.Mov.Imm(regCursor, int32(g.sig.BehindHeader(g.sig.FixedSize()))))
	}
}

func (g *generator) writeTime() {
	if g.sig.Omit.Time {
		g.omit(record.Time)
		return
	}
	g.emit(
		asm.FnKtimeGetNs.Call(),
		asm.StoreMem(regRecord, record.Time, asm.R0, asm.DWord),
	)
}

func (g *generator) writeTask() {
	if g.sig.Omit.Task {
		g.omit(record.Task)
		return
	}
	g.loadTask()
	g.emit(asm.StoreMem(regRecord, record.Task, asm.R0, asm.DWord))
}

func (g *generator) writeComm() {
	if g.sig.Omit.Comm { // the last field
		return
	}
	g.emit(
		asm.Mov.Reg(asm.R1, regRecord),
		asm.Add.Imm(asm.R1, record.Comm),
		asm.Mov.Imm(asm.R2, record.CommSize),
		asm.FnGetCurrentComm.Call(),
	)
}

// omit writes 0 to a field of 8 bytes, unless it is in the tail. It changes R0.
func (g *generator) omit(field int) {
	if field >= record.HeaderSize-g.sig.Omit.Tail() {
		return
	}
	g.emit(
		asm.Mov.Imm(asm.R0, 0),
		asm.StoreMem(regRecord, int16(field), asm.R0, asm.DWord),
	)
}
