package codegen

import (
	"github.com/cilium/ebpf/asm"

	"github.com/go-usdt/usdt/attach/internal/query"
)

// taskNumbers put what is known of the task into a register. They change R0 to R5 and stackSum.
var taskNumbers = map[query.Source]func(g *generator, dst asm.Register){
	query.InputPID: func(g *generator, dst asm.Register) {
		g.loadTask()
		g.emit(asm.Mov.Reg(dst, asm.R0), asm.RSh.Imm(dst, 32))
	},
	query.InputTID: func(g *generator, dst asm.Register) {
		g.loadTask()
		g.emit(asm.Mov.Reg(dst, asm.R0))
	},
	query.InputThread: helperResult(asm.FnGetCurrentPidTgid),
	query.InputCPU:    helperResult(asm.FnGetSmpProcessorId),
	query.InputUID:    helperResult(asm.FnGetCurrentUidGid),
}

// helperResult puts what a helper without arguments returns into a register.
func helperResult(fn asm.BuiltinFunc) func(*generator, asm.Register) {
	return func(g *generator, dst asm.Register) { g.emit(fn.Call(), asm.Mov.Reg(dst, asm.R0)) }
}

// loadTask puts the process id, in the upper half, and the thread id into R0.
// They are the ids in this process's PID namespace, or 0 if the task has none
// there; in the initial namespace they are the kernel's own. It changes R1 to R5
// and stackSum.
func (g *generator) loadTask() {
	g.emit(g.refs.Namespace.Load(stackSum)...)
}
