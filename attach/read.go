package attach

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
		g.loadLocation(asm.R3, g.sig.blockBase)
		g.emit(asm.Add.Imm(asm.R3, g.sig.blockDisp))
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
			g.readUser(load, int32(in.Size), regRecord, to, bit, g.sleeps)
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
	g.readUser(load, int32(op.Size), dst, off, i, g.sleeps)
	if op.Follow {
		// The helpers clear what they cannot read.
		load := func() {
			g.emit(asm.LoadMem(asm.R3, dst, off, asm.DWord), asm.Add.Imm(asm.R3, int32(op.FollowDisp)))
		}
		g.readUser(load, int32(op.Size), dst, off, i, g.sleeps)
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

// loadOperand puts the value of an operand that is not in memory into dst. It
// changes R4 too.
func (g *generator) loadOperand(dst asm.Register, op *operand.Operand) {
	switch op.Kind {
	case operand.Const:
		g.emit(asm.LoadImm(dst, int64(op.Value), asm.DWord))
	case operand.Register:
		g.loadLocation(dst, op.Base)
		if op.HasPair {
			g.loadLocation(asm.R4, op.Pair)
			g.emit(
				asm.LSh.Imm(dst, 32), asm.RSh.Imm(dst, 32),
				asm.LSh.Imm(asm.R4, 32),
				asm.Or.Reg(dst, asm.R4),
			)
		}
	case operand.Address:
		g.loadAddress(dst, op)
	}
}

// loadAddress puts the address of an operand into dst. It changes R4 too.
func (g *generator) loadAddress(dst asm.Register, op *operand.Operand) {
	g.emit(asm.LoadImm(dst, op.Disp, asm.DWord))
	if op.HasBase {
		g.loadLocation(asm.R4, op.Base)
		g.emit(asm.Add.Reg(dst, asm.R4))
	}
	if op.HasIndex {
		g.loadLocation(asm.R4, op.Index)
		if op.Extend == 32 {
			g.emit(asm.LSh.Imm(asm.R4, 32))
			if op.ExtendSigned {
				g.emit(asm.ArSh.Imm(asm.R4, 32))
			} else {
				g.emit(asm.RSh.Imm(asm.R4, 32))
			}
		}
		if op.Scale != 0 {
			g.emit(asm.LSh.Imm(asm.R4, int32(op.Scale)))
		}
		g.emit(asm.Add.Reg(dst, asm.R4))
	}
	if op.Wrap32 {
		g.emit(asm.LSh.Imm(dst, 32), asm.RSh.Imm(dst, 32))
	}
}

func (g *generator) loadLocation(dst asm.Register, l operand.Location) {
	if l.Zero {
		g.emit(asm.Mov.Imm(dst, 0))
		return
	}
	g.emit(asm.LoadMem(dst, regContext, l.Off, asm.DWord))
	if l.Shift != 0 {
		g.emit(asm.RSh.Imm(dst, int32(l.Shift)))
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
	g.emit(asm.And.Imm(regCursor, int32(g.sig.cursorMask(g.sig.stringLimit()))))
}

func (g *generator) readSized(s record.String, failed string) {
	g.copySized(s, g.toCursor, int32(g.sig.stringLimit()), failed)
	g.emit(
		asm.LoadMem(asm.R1, asm.R10, stackLength, asm.DWord),
		asm.Add.Reg(regCursor, asm.R1),
	)
}

func (g *generator) readTerminated(s record.String, failed string) {
	g.copyTerminated(s.Slot, g.toCursor, g.sig.stringLimit(), failed)
	g.emit(
		asm.StoreMem(regRecord, recordSlot(s.Slot), asm.R0, asm.DWord),
		asm.Add.Reg(regCursor, asm.R0),
	)
}

// toCursor puts the address of the next string into R1.
func (g *generator) toCursor() {
	g.emit(asm.Mov.Reg(asm.R1, regRecord), asm.Add.Reg(asm.R1, regCursor))
}

// copySized copies what s points to, up to limit bytes, to the address that to
// puts into R1. It leaves the number of bytes at stackLength, jumps if there is
// nothing to be read, and changes R0 to R5.
func (g *generator) copySized(s record.String, to func(), limit int32, failed string) {
	whole, ok := g.newLabel("whole"), g.newLabel("copied")
	most := limit / int32(s.Width())
	g.loadTextLength(&s, failed)
	g.emit(asm.JLE.Imm(asm.R2, most, whole), asm.Mov.Imm(asm.R2, most))
	g.label(whole)
	if s.Elem > 1 {
		g.emit(asm.Mul.Imm(asm.R2, int32(s.Elem)))
	}
	g.emit(asm.StoreMem(asm.R10, stackLength, asm.R2, asm.DWord))
	for _, fn := range g.readers(g.sleeps) {
		g.loadTextPointer(&s)
		g.emit(asm.LoadMem(asm.R2, asm.R10, stackLength, asm.DWord))
		to()
		g.emit(fn.Call(), asm.JEq.Imm(asm.R0, 0, ok))
	}
	g.emit(asm.Ja.Label(failed))
	g.label(ok)
}

// readers are the helpers that copy memory of the traced program, the cheap one
// first.
func (g *generator) readers(mayCopy bool) []asm.BuiltinFunc {
	if mayCopy {
		return []asm.BuiltinFunc{asm.FnProbeReadUser, asm.FnCopyFromUser}
	}
	return []asm.BuiltinFunc{asm.FnProbeReadUser}
}

// loadTextLength puts the length of text that says it into R2, and jumps if it
// could not be read or is negative. It changes R1.
func (g *generator) loadTextLength(s *record.String, failed string) {
	if s.Sized {
		g.emit(asm.LoadMem(asm.R2, regRecord, int16(g.sig.BlockOffset()+int(s.Length)), asm.DWord))
		return
	}
	if g.sig.operands[s.LengthSlot].Kind == operand.Memory {
		g.failedRead(s.LengthSlot, failed)
	}
	g.emit(asm.LoadMem(asm.R2, regRecord, recordSlot(s.LengthSlot), asm.DWord))
	unused := int32(64 - 8*int(s.LengthSize))
	g.emit(asm.LSh.Imm(asm.R2, unused))
	if !s.LengthSigned {
		g.emit(asm.RSh.Imm(asm.R2, unused))
		return
	}
	g.emit(
		asm.ArSh.Imm(asm.R2, unused),
		asm.JSLT.Imm(asm.R2, 0, failed),
	)
}

// loadTextPointer puts the address of text into R3.
func (g *generator) loadTextPointer(s *record.String) {
	at := recordSlot(s.Slot)
	if s.Sized {
		at = int16(g.sig.BlockOffset() + int(s.Pointer))
	}
	g.emit(asm.LoadMem(asm.R3, regRecord, at, asm.DWord))
}

// smallestPage is the smallest page of any architecture that is supported.
const smallestPage = 4096

// copyTerminated copies text up to its NUL, limit+2 bytes at most, from where
// the record's slot points to the address that to puts into R1. It leaves the
// number of bytes without the NUL in R0, jumps if there is nothing to be read,
// and changes R0 to R5.
func (g *generator) copyTerminated(slot int, to func(), limit int, failed string) {
	ok := g.newLabel("copied")
	pointer := func() { g.emit(asm.LoadMem(asm.R3, regRecord, recordSlot(slot), asm.DWord)) }
	try := func() {
		pointer()
		g.emit(asm.Mov.Imm(asm.R2, int32(limit+2)))
		to()
		g.emit(asm.FnProbeReadUserStr.Call(), asm.JSGT.Imm(asm.R0, 0, ok))
	}
	try()
	if g.sleeps {
		g.touchPages(pointer, limit+2)
		try()
	}
	g.emit(asm.Ja.Label(failed))
	g.label(ok)
	g.emit(asm.Sub.Imm(asm.R0, 1)) // the NUL
}

// touchPages has the pages brought in that n bytes of text may reach from the
// address on that load puts into R3.
func (g *generator) touchPages(load func(), n int) {
	for page := 0; page <= (n+smallestPage-1)/smallestPage; page++ {
		load()
		if page > 0 {
			g.emit(
				asm.RSh.Imm(asm.R3, 12),
				asm.Add.Imm(asm.R3, int32(page)),
				asm.LSh.Imm(asm.R3, 12),
			)
		}
		g.emit(
			asm.Mov.Imm(asm.R2, 1),
			asm.Mov.Reg(asm.R1, asm.R10),
			asm.Add.Imm(asm.R1, stackKey),
			asm.FnCopyFromUser.Call(),
		)
	}
}
