package codegen

import (
	"math"

	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/attach/internal/query"
)

// stackSection is the section of the stack that led to the probe: addresses, which the
// kernel reads by frame pointers, or a copy of the stack. See record.Stack.
func stackSection() section { return section{write: (*generator).writeStack} }

func (g *generator) writeStack() {
	st := &g.sig.Stack
	switch {
	case st.Most == 0:
		return
	case st.Copied > 0:
		g.copyStack()
	default:
		g.programStack()
	}
	if st.Kernel > 0 {
		g.readAddresses(st.Kernel, 0)
		g.storeSize()
	}
}

// readAddresses reads no more than most addresses of the stack to the cursor, which it advances.
// Their size, or the error, is then at stackSum.
func (g *generator) readAddresses(most int, flags int32) {
	none := g.newLabel("nostack")
	g.emit(
		asm.Mov.Reg(asm.R1, regContext),
		asm.Mov.Reg(asm.R2, regRecord), asm.Add.Reg(asm.R2, regCursor),
		asm.Mov.Imm(asm.R3, int32(8*most)),
		asm.Mov.Imm(asm.R4, flags),
		asm.FnGetStack.Call(),
		asm.StoreMem(asm.R10, stackSum, asm.R0, asm.DWord),
		asm.JSLE.Imm(asm.R0, 0, none),
		asm.Add.Reg(regCursor, asm.R0),
	)
	g.label(none)
}

// storeSize stores what is at stackSum behind the addresses.
func (g *generator) storeSize() {
	g.toCursor()
	g.emit(
		asm.LoadMem(asm.R2, asm.R10, stackSum, asm.DWord),
		asm.StoreMem(asm.R1, 0, asm.R2, asm.DWord),
		asm.Add.Imm(regCursor, 8),
	)
}

// programStack stores the addresses of the program's part of the stack.
func (g *generator) programStack() {
	st := &g.sig.Stack
	g.readAddresses(st.Most, unix.BPF_F_USER_STACK)
	if st.Entry {
		g.returnAddress()
		g.toCursor()
		g.emit(
			asm.LoadMem(asm.R2, asm.R10, stackLength, asm.DWord),
			asm.StoreMem(asm.R1, 0, asm.R2, asm.DWord),
			asm.Add.Imm(regCursor, 8),
		)
	}
	g.storeSize()
}

// copyStack copies the registers, and the stack from its pointer on: up to the end of the
// page and then whole pages, until one cannot be read.
func (g *generator) copyStack() {
	st := &g.sig.Stack
	done := g.newLabel("copied")
	g.toCursor()
	g.emit(asm.StoreMem(asm.R10, stackSum, regCursor, asm.DWord))
	for off := int16(0); off < int16(st.Registers); off += 8 {
		g.emit(
			asm.LoadMem(asm.R2, regContext, off, asm.DWord),
			asm.StoreMem(asm.R1, off, asm.R2, asm.DWord),
		)
	}
	g.emit(asm.Add.Imm(regCursor, int32(st.Registers)))
	size := func() { // puts that of the first piece into R2
		g.emit(
			asm.LoadMem(asm.R3, regContext, g.sig.StackPointer, asm.DWord),
			asm.Mov.Reg(asm.R4, asm.R3), asm.And.Imm(asm.R4, query.StackPage-1),
			asm.Mov.Imm(asm.R2, query.StackPage), asm.Sub.Reg(asm.R2, asm.R4),
		)
	}
	size()
	g.toCursor()
	g.emit(asm.FnProbeReadUser.Call(), asm.JNE.Imm(asm.R0, 0, done))
	size()
	g.emit(asm.Add.Reg(regCursor, asm.R2))
	for page := 1; page < st.Copied/query.StackPage; page++ {
		g.emit(
			asm.LoadMem(asm.R3, regContext, g.sig.StackPointer, asm.DWord),
			asm.And.Imm(asm.R3, -query.StackPage), asm.Add.Imm(asm.R3, int32(page*query.StackPage)),
			asm.Mov.Imm(asm.R2, query.StackPage),
		)
		g.toCursor()
		g.emit(
			asm.FnProbeReadUser.Call(),
			asm.JNE.Imm(asm.R0, 0, done),
			asm.Add.Imm(regCursor, query.StackPage),
		)
	}
	g.label(done)
	g.toCursor()
	g.emit(
		asm.LoadMem(asm.R3, asm.R10, stackSum, asm.DWord),
		asm.Mov.Reg(asm.R2, regCursor), asm.Sub.Reg(asm.R2, asm.R3),
		asm.StoreMem(asm.R1, 0, asm.R2, asm.DWord),
		asm.Add.Imm(regCursor, 8),
	)
}

// returnAddress stores the return address of a function that has no frame at stackLength; 0 if
// it has one, or the address cannot be read, as the helper stores then.
func (g *generator) returnAddress() {
	op, done := &g.sig.Return, g.newLabel("returns")
	g.emit(asm.Mov.Imm(asm.R1, 0), asm.StoreMem(asm.R10, stackLength, asm.R1, asm.DWord))
	if frame := &g.sig.Frame; frame.HasBase {
		g.emit(frame.LoadAddress(asm.R3, regContext)...)
		g.emit(g.sig.FramePointer.Load(asm.R4, regContext)...)
		g.emit(asm.JEq.Reg(asm.R3, asm.R4, done))
	}
	if op.Kind == operand.Memory {
		g.emit(op.LoadAddress(asm.R3, regContext)...)
		g.emit(
			asm.Mov.Imm(asm.R2, int32(op.Size)),
			asm.Mov.Reg(asm.R1, asm.R10), asm.Add.Imm(asm.R1, stackLength),
			asm.FnProbeReadUser.Call(),
		)
	} else {
		g.loadOperand(asm.R3, op)
		g.emit(asm.StoreMem(asm.R10, stackLength, asm.R3, asm.DWord))
	}
	if g.sig.Alone {
		g.emit(
			asm.LoadMem(asm.R1, asm.R10, stackLength, asm.DWord), asm.JEq.Imm(asm.R1, 0, done),
			asm.LoadImm(asm.R2, math.MinInt64, asm.DWord), asm.Or.Reg(asm.R1, asm.R2), // record.CallerAlone
			asm.StoreMem(asm.R10, stackLength, asm.R1, asm.DWord),
		)
	}
	g.label(done)
}
