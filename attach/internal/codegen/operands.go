package codegen

import (
	"github.com/cilium/ebpf/asm"

	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/internal/record"
)

// slots is the section of operands: values, or pointers to strings.
func slots() section {
	return section{read: (*generator).readSlots, write: (*generator).writeSlots}
}

func stackSlot(i int) int16 { return operand.SlotAt(i) }

// recordSlot returns where a slot lies in the record.
func (g *generator) recordSlot(i int) int16 { return g.sig.BehindHeader(record.Slot(i)) }

// readSlots reads operands that are in memory. With scratch memory it reads all,
// since later sections expect pointers to strings there.
func (g *generator) readSlots() {
	for i := range g.sig.Operands {
		op := &g.sig.Operands[i]
		switch {
		case op.Held.Role != operand.NotHeld:
			g.readHeld(op, i)
		case op.Kind == operand.Memory && g.scratch:
			g.readOperand(op, i, regRecord, g.recordSlot(i))
		case op.Kind == operand.Memory:
			g.readOperand(op, i, asm.R10, stackSlot(i))
		case g.scratch:
			g.loadOperand(asm.R3, op)
			g.emit(asm.StoreMem(regRecord, g.recordSlot(i), asm.R3, asm.DWord))
		}
	}
}

func (g *generator) writeSlots() {
	if g.scratch {
		return
	}
	for i := range g.sig.Operands {
		if op := &g.sig.Operands[i]; op.Kind == operand.Memory {
			g.emit(asm.LoadMem(asm.R3, asm.R10, stackSlot(i), asm.DWord))
		} else {
			g.loadOperand(asm.R3, op)
		}
		g.emit(asm.StoreMem(regRecord, g.recordSlot(i), asm.R3, asm.DWord))
	}
}

// readOperand copies a memory operand to 8 bytes at dst+off. Only the first
// op.Size bytes are the value.
func (g *generator) readOperand(op *operand.Operand, i int, dst asm.Register, off int16) {
	if op.Size < 8 || dst == asm.R10 {
		g.emit(asm.Mov.Imm(asm.R1, 0), asm.StoreMem(dst, off, asm.R1, asm.DWord))
	}
	load := func() { g.emit(op.LoadAddress(asm.R3, regContext)...) }
	pointer := op.Size
	if op.Follow && op.Pointer != 0 {
		pointer = op.Pointer
	}
	follow := func(disp int32) {
		g.readUser(load, int32(pointer), dst, off, i, g.kind.sleeps)
		// The helpers clear what they cannot read.
		load = func() { g.emit(asm.LoadMem(asm.R3, dst, off, asm.DWord), asm.Add.Imm(asm.R3, disp)) }
	}
	if op.Follow {
		follow(int32(op.FollowDisp))
	}
	for _, disp := range op.FurtherDisp[:op.Further] {
		follow(disp)
	}
	g.readUser(load, int32(op.Size), dst, off, i, g.kind.sleeps)
	if above := 64 - 8*int32(op.Size); op.Follow && pointer > op.Size { // what is left of the address
		g.emit(asm.LoadMem(asm.R1, dst, off, asm.DWord), asm.LSh.Imm(asm.R1, above), asm.RSh.Imm(asm.R1, above), asm.StoreMem(dst, off, asm.R1, asm.DWord))
	}
	if op.Bits > 0 {
		g.emit(asm.LoadMem(asm.R1, dst, off, asm.DWord))
		g.emit(op.LoadField(asm.R1)...)
		g.emit(asm.StoreMem(dst, off, asm.R1, asm.DWord))
	}
	if op.Plus != 0 {
		g.emit(asm.LoadMem(asm.R1, dst, off, asm.DWord), asm.Add.Imm(asm.R1, int32(op.Plus)), asm.StoreMem(dst, off, asm.R1, asm.DWord))
	}
	if op.Site != 0 {
		g.emit(asm.LoadMem(asm.R3, dst, off, asm.DWord))
		g.inFile(asm.R3, op)
		g.emit(asm.StoreMem(dst, off, asm.R3, asm.DWord))
	}
}

// loadOperand puts the value of an operand that is not in memory into dst. It
// also changes R4, and R0 to R5 if the operand belongs to the task.
func (g *generator) loadOperand(dst asm.Register, op *operand.Operand) {
	if op.Kind == operand.Task {
		taskNumbers[query.Source(op.Value)](g, dst)
		return
	}
	g.emit(op.Load(dst, regContext)...)
	g.inFile(dst, op)
}

// firstPage is the size of the page at address 0, where nothing is mapped: an address in it
// is null, or behind a pointer that is null. An attempt to read there faults, and a helper that
// may sleep has the kernel look for what is mapped, which takes ten times as long as all else
// that a program does.
const firstPage = smallestPage

// readUser copies size bytes from the address that load puts into R3. If it cannot, it clears
// them and sets error bit i.
func (g *generator) readUser(load func(), size int32, dst asm.Register, off int16, i int, mayCopy bool) {
	ok := g.newLabel("read")
	for _, fn := range g.readers(mayCopy) {
		somewhere := g.newLabel("somewhere")
		load()
		g.emit(
			asm.JGE.Imm(asm.R3, firstPage, somewhere),
			asm.Mov.Imm(asm.R3, -1), // the kernel refuses its own addresses without a fault
		)
		g.label(somewhere)
		g.emit(
			asm.Mov.Imm(asm.R2, size), asm.Mov.Reg(asm.R1, dst), asm.Add.Imm(asm.R1, int32(off)),
			fn.Call(), asm.JEq.Imm(asm.R0, 0, ok),
		)
	}
	g.markError(i)
	g.label(ok)
}

// failures is the section that says which reads failed. It comes last, when all
// reads have been tried.
func failures() section { return section{write: (*generator).writeFailures} }

// markError notes that read i has failed. It changes R1 and R2.
func (g *generator) markError(i int) {
	g.emit(
		asm.LoadMem(asm.R1, asm.R10, stackErrors, asm.DWord),
		asm.LoadImm(asm.R2, 1<<i, asm.DWord),
		asm.Or.Reg(asm.R1, asm.R2),
		asm.StoreMem(asm.R10, stackErrors, asm.R1, asm.DWord),
	)
}

func (g *generator) writeFailures() {
	g.emit(
		asm.LoadMem(asm.R1, asm.R10, stackErrors, asm.DWord),
		asm.StoreMem(regRecord, record.Failures, asm.R1, asm.Word),
	)
	if g.sig.Block > 0 {
		g.emit(asm.StoreMem(regRecord, g.sig.BehindHeader(g.sig.FailuresOffset()), asm.R1, asm.DWord))
	}
}

// saveWords puts the words that operands need of what a trampoline has saved on the stack. The kernel
// replaces these calls by loads.
func (g *generator) saveWords() {
	if !g.kind.hook.ByTrampoline() {
		return
	}
	words := uint16(0)
	for i := range g.sig.Operands {
		words |= g.sig.Operands[i].SavedWords()
	}
	for i := range int32(operand.SavedResult + 1) {
		at := operand.SavedAt + 8*i
		switch {
		case words&(1<<i) == 0:
		case i == operand.SavedResult:
			g.emit(
				asm.Mov.Reg(asm.R1, regContext),
				asm.Mov.Reg(asm.R2, asm.R10), asm.Add.Imm(asm.R2, at),
				asm.FnGetFuncRet.Call(),
			)
		default:
			g.emit(
				asm.Mov.Reg(asm.R1, regContext),
				asm.Mov.Imm(asm.R2, i),
				asm.Mov.Reg(asm.R3, asm.R10), asm.Add.Imm(asm.R3, at),
				asm.FnGetFuncArg.Call(),
			)
		}
	}
}
