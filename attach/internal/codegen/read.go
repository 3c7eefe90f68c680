package codegen

import (
	"github.com/cilium/ebpf/asm"
	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/internal/record"
)

// readBlock copies the argument block. It has just been written, to the stack
// of the thread, and is in memory.
func (g *generator) readBlock(mayCopy bool) {
	if g.sig.Block == 0 {
		return
	}
	load := func() {
		g.loadLocation(asm.R3, g.sig.BlockBase)
		g.emit(asm.Add.Imm(asm.R3, g.sig.BlockDisp))
	}
	g.readUser(load, int32(g.sig.Block), regRecord, int16(g.sig.BlockOffset()), g.sig.BlockRead(), mayCopy)
}

// readIndirects copies what pointers in the block lead to. What they point to
// is zero if it cannot be read: nothing is there to follow.
func (g *generator) readIndirects() {
	start := g.sig.BlockOffset()
	for i, in := range g.sig.Indirects {
		bit := g.sig.BlockRead() + 1 + i
		to, from := int16(start+int(in.Offset)), int16(start+int(in.Pointer))
		load := func() { g.emit(asm.LoadMem(asm.R3, regRecord, from, asm.DWord)) }
		switch {
		case in.Size == 0:
		case in.Elem == 0:
			g.readUser(load, int32(in.Size), regRecord, to, bit, g.kind.sleeps)
		default:
			g.emit(asm.Mov.Imm(asm.R1, 0))
			for off := 0; off < int(in.Size); off += 8 {
				g.emit(asm.StoreMem(regRecord, to+int16(off), asm.R1, asm.DWord))
			}
			s := record.String{Sized: true, Pointer: in.Pointer, Length: in.Length, Elem: in.Elem}
			failed, done := g.newLabel("failed"), g.newLabel("done")
			g.copySized(s, func() { g.emit(asm.Mov.Reg(asm.R1, regRecord), asm.Add.Imm(asm.R1, int32(to))) }, int32(in.Size), failed)
			g.emit(asm.Ja.Label(done))
			g.label(failed)
			g.markError(bit)
			g.label(done)
		}
	}
}

// readOperand copies a memory operand to 8 bytes at dst+off. Only its size's
// first bytes are the value.
func (g *generator) readOperand(op *operand.Operand, i int, dst asm.Register, off int16) {
	if op.Size < 8 || dst == asm.R10 {
		g.emit(asm.Mov.Imm(asm.R1, 0), asm.StoreMem(dst, off, asm.R1, asm.DWord))
	}
	load := func() { g.loadAddress(asm.R3, op) }
	g.readUser(load, int32(op.Size), dst, off, i, g.kind.sleeps)
	if op.Follow {
		// The helpers clear what they cannot read.
		load := func() {
			g.emit(asm.LoadMem(asm.R3, dst, off, asm.DWord), asm.Add.Imm(asm.R3, int32(op.FollowDisp)))
		}
		g.readUser(load, int32(op.Size), dst, off, i, g.kind.sleeps)
	}
}

// readUser copies size bytes from the address that load puts into R3, and sets
// error bit i if it cannot.
func (g *generator) readUser(load func(), size int32, dst asm.Register, off int16, i int, mayCopy bool) {
	ok := g.newLabel("read")
	for _, fn := range g.readers(mayCopy) {
		load()
		g.emit(
			asm.Mov.Imm(asm.R2, size),
			asm.Mov.Reg(asm.R1, dst),
			asm.Add.Imm(asm.R1, int32(off)),
			fn.Call(),
			asm.JEq.Imm(asm.R0, 0, ok),
		)
	}
	g.markError(i)
	g.label(ok)
}

func (g *generator) markError(i int) {
	g.emit(
		asm.LoadMem(asm.R1, asm.R10, stackErrors, asm.DWord),
		asm.LoadImm(asm.R2, 1<<i, asm.DWord),
		asm.Or.Reg(asm.R1, asm.R2),
		asm.StoreMem(asm.R10, stackErrors, asm.R1, asm.DWord),
	)
}

func (g *generator) storeErrors() {
	g.emit(
		asm.LoadMem(asm.R1, asm.R10, stackErrors, asm.DWord),
		asm.StoreMem(regRecord, record.Failures, asm.R1, asm.Word),
	)
	if g.sig.Block > 0 {
		g.emit(asm.StoreMem(regRecord, int16(g.sig.FailuresOffset()), asm.R1, asm.DWord))
	}
}

// readString copies a string to the cursor and moves it on by what was copied.
func (g *generator) readString(s record.String, bit int) {
	failed, done := g.newLabel("failed"), g.newLabel("done")
	if s.Sized || s.Counted {
		g.readSized(s, failed)
	} else {
		g.readTerminated(s, failed)
	}
	g.emit(asm.Ja.Label(done))
	g.label(failed)
	g.markError(bit)
	g.label(done)
	g.emit(asm.And.Imm(regCursor, int32(g.sig.cursorMask(g.sig.Limit))))
}

func (g *generator) readSized(s record.String, failed string) {
	g.copySized(s, g.toCursor, int32(g.sig.Limit), failed)
	g.emit(
		asm.LoadMem(asm.R1, asm.R10, stackLength, asm.DWord),
		asm.Add.Reg(regCursor, asm.R1),
	)
}

func (g *generator) readTerminated(s record.String, failed string) {
	g.copyTerminated(s.Slot, g.toCursor, g.sig.Limit, failed)
	g.emit(
		asm.StoreMem(regRecord, recordSlot(s.Slot), asm.R0, asm.DWord),
		asm.Add.Reg(regCursor, asm.R0),
	)
}

// toCursor puts the address of the next string into R1.
func (g *generator) toCursor() {
	g.emit(asm.Mov.Reg(asm.R1, regRecord), asm.Add.Reg(asm.R1, regCursor))
}
