package codegen

import (
	"slices"

	"github.com/cilium/ebpf/asm"

	"github.com/go-usdt/usdt/attach/internal/cgroups"
	"github.com/go-usdt/usdt/attach/internal/operand"
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
	query.InputGoCall: (*generator).loadGoCall,

	query.InputFunction: (*generator).loadFunction,
	query.InputCgroup:   (*generator).loadGroup, query.InputContainer: (*generator).loadGroup, query.InputPod: (*generator).loadGroup,
}

// helperResult puts what a helper without arguments returns into a register.
func helperResult(fn asm.BuiltinFunc) func(*generator, asm.Register) {
	return func(g *generator, dst asm.Register) { g.emit(fn.Call(), asm.Mov.Reg(dst, asm.R0)) }
}

// loadGoCall puts what identifies a call of a Go program into dst: the address of its
// goroutine, and above which depth of its stack the call's frame lies, both in words. A goroutine
// begins with the bounds of its stack (runtime.g). Calls of one goroutine that are 8 MiB apart
// have one number, and are told apart by their order.
func (g *generator) loadGoCall(dst asm.Register) {
	const highest, depth = 8, 20 // bytes before stack.hi; bits
	goroutine, stack := operand.GoRegisters()
	g.emit(
		asm.Mov.Imm(asm.R1, 0), asm.StoreMem(asm.R10, stackSum, asm.R1, asm.DWord),
		asm.Mov.Reg(asm.R1, asm.R10), asm.Add.Imm(asm.R1, stackSum),
		asm.Mov.Imm(asm.R2, 8),
		asm.LoadMem(asm.R3, regContext, goroutine, asm.DWord), asm.Add.Imm(asm.R3, highest),
		asm.FnProbeReadUser.Call(),
		asm.LoadMem(asm.R0, asm.R10, stackSum, asm.DWord),
		asm.LoadMem(asm.R1, regContext, stack, asm.DWord),
		asm.Sub.Reg(asm.R0, asm.R1), asm.RSh.Imm(asm.R0, 3), asm.And.Imm(asm.R0, 1<<depth-1),
		asm.LoadMem(asm.R1, regContext, goroutine, asm.DWord),
		asm.RSh.Imm(asm.R1, 3), asm.LSh.Imm(asm.R1, depth),
		asm.Or.Reg(asm.R0, asm.R1), asm.Mov.Reg(dst, asm.R0),
	)
}

// Groups are what names control groups, and decides what conditions say of them.
type Groups struct {
	*cgroups.Live
	Tests []query.GroupTest // by the bits of verdicts
}

// loadGroup puts the id of the task's control group into dst.
func (g *generator) loadGroup(dst asm.Register) { g.emit(g.refs.ControlGroups.Load(dst, stackSum)...) }

// noteGroup keeps the path of a control group that was not seen before. Nothing is on the stack or
// in registers yet but the context.
func (g *generator) noteGroup() {
	if g.refs.ControlGroups == nil {
		return
	}
	noted := g.newLabel("noted")
	g.emit(g.refs.ControlGroups.Note(stackSlots-8, noted)...)
	g.label(noted)
	g.emit(asm.Mov.Reg(asm.R1, regContext)) // as it was before
}

// isGroup jumps to yes if a comparison holds for the control group whose id is in R1, to no if it
// does not, and to unknown if that is not known yet. It changes R0 to R5 and stackSum.
func (g *generator) isGroup(test *query.GroupTest, yes, no, unknown string) {
	bit := slices.IndexFunc(g.refs.ControlGroups.Tests, func(t query.GroupTest) bool { return t.Equal(test) })
	g.emit(g.refs.ControlGroups.Decided(bit, stackSum, unknown)...)
	g.emit(asm.JNE.Imm(asm.R1, 0, yes), asm.Ja.Label(no))
}

// loadTask puts the process id, in the upper half, and the thread id into R0.
// They are the ids in this process's PID namespace, or 0 if the task has none
// there; in the initial namespace they are the kernel's own. It changes R1 to R5
// and stackSum.
func (g *generator) loadTask() {
	g.emit(g.refs.Namespace.Load(stackSum)...)
}

// loadFunction puts the address of the function that has called the trampoline into a register.
func (g *generator) loadFunction(dst asm.Register) {
	g.emit(asm.Mov.Reg(asm.R1, regContext), asm.FnGetFuncIp.Call(), asm.Mov.Reg(dst, asm.R0))
}
