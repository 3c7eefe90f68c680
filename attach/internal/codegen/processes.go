package codegen

import (
	"github.com/cilium/ebpf/asm"

	"github.com/go-usdt/usdt/attach/internal/kernel"
)

// onlyProcesses ends the program in processes that are not traced.
func (g *generator) onlyProcesses() {
	if g.refs.Processes == nil {
		return
	}
	g.loadTask()
	g.emit(
		asm.RSh.Imm(asm.R0, 32),
		asm.StoreMem(asm.R10, stackKey, asm.R0, asm.Word),
		asm.LoadMapPtr(asm.R1, g.refs.Processes.FD()),
		asm.Mov.Reg(asm.R2, asm.R10),
		asm.Add.Imm(asm.R2, stackKey),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "exit"),
	)
	if g.refs.Lifetimes {
		// These registers hold nothing yet.
		g.emit(
			asm.LoadMem(asm.R7, asm.R0, 0, asm.DWord),
			asm.LoadMem(asm.R8, asm.R0, 8, asm.DWord),
		)
		g.emit(kernel.LoadStartTime(asm.R1)...)
		g.emit(
			asm.Sub.Reg(asm.R1, asm.R7),
			asm.JGE.Reg(asm.R1, asm.R8, "exit"),
		)
	}
	g.emit(asm.Mov.Reg(asm.R1, regContext)) // as it was before
}
