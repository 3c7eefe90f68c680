package codegen

import (
	"github.com/cilium/ebpf/asm"

	"github.com/go-usdt/usdt/internal/record"
)

// header is the section that says which site fired, when, and in which thread.
func header() section { return section{write: (*generator).writeHeader} }

// writeHeader is the last to use regSite, whose register regCursor takes.
func (g *generator) writeHeader() {
	g.emit(
		asm.StoreMem(regRecord, record.Site, regSite, asm.Word),
		asm.FnKtimeGetNs.Call(),
		asm.StoreMem(regRecord, record.Time, asm.R0, asm.DWord),
	)
	g.loadTask()
	g.emit(
		asm.StoreMem(regRecord, record.Task, asm.R0, asm.DWord),
		asm.Mov.Reg(asm.R1, regRecord),
		asm.Add.Imm(asm.R1, record.Comm),
		asm.Mov.Imm(asm.R2, 16),
		asm.FnGetCurrentComm.Call(),
	)
	if g.scratch {
		g.emit(asm.Mov.Imm(regCursor, int32(g.sig.FixedSize())))
	}
}
