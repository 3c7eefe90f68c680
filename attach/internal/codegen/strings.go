package codegen

import (
	"github.com/cilium/ebpf/asm"

	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/internal/record"
)

// stringSection is the section of strings behind the fixed part: strings, bytes and elements
// of slices.
func stringSection() section {
	return section{
		write: func(g *generator) {
			for i, s := range g.sig.Strings {
				g.readString(s, g.sig.FirstString()+i)
			}
		},
	}
}

// readString copies a string to the cursor and moves the cursor behind it.
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
	g.emit(asm.And.Imm(regCursor, g.cursorMask))
}

func (g *generator) readSized(s record.String, failed string) {
	g.copySized(s, g.toCursor, int32(g.sig.Limit), failed)
	g.emit(
		asm.LoadMem(asm.R1, asm.R10, stackLength, asm.DWord),
		asm.Add.Reg(regCursor, asm.R1),
	)
}

func (g *generator) readTerminated(s record.String, failed string) {
	g.copyTerminated(s.Slot, g.toCursor, s.Most(g.sig.Limit), failed)
	g.emit(
		asm.StoreMem(regRecord, g.recordSlot(s.Slot), asm.R0, asm.DWord),
		asm.Add.Reg(regCursor, asm.R0),
	)
}

// toCursor puts the address of the next string into R1.
func (g *generator) toCursor() {
	g.emit(asm.Mov.Reg(asm.R1, regRecord), asm.Add.Reg(asm.R1, regCursor))
}

// copySized copies the memory that s points to, up to limit bytes, to the address
// that to puts into R1. It stores the number of bytes at stackLength, jumps to
// failed if nothing can be read, and changes R0 to R5.
func (g *generator) copySized(s record.String, to func(), limit int32, failed string) {
	whole, ok := g.newLabel("whole"), g.newLabel("copied")
	most := limit / int32(s.Width())
	g.loadStringLength(&s, failed)
	g.emit(asm.JLE.Imm(asm.R2, most, whole), asm.Mov.Imm(asm.R2, most))
	g.label(whole)
	if s.Elem > 1 {
		g.emit(asm.Mul.Imm(asm.R2, int32(s.Elem)))
	}
	g.emit(asm.StoreMem(asm.R10, stackLength, asm.R2, asm.DWord))
	somewhere := g.newLabel("somewhere")
	g.loadStringPointer(&s)
	g.emit(
		asm.JGE.Imm(asm.R3, firstPage, somewhere),
		asm.JNE.Imm(asm.R2, 0, failed),
	)
	g.label(somewhere)
	for _, fn := range g.readers(g.kind.sleeps) {
		g.loadStringPointer(&s)
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
	if g.kind.hook.Kernel {
		return []asm.BuiltinFunc{asm.FnProbeRead} // of both: which, the address says
	}
	if mayCopy {
		return []asm.BuiltinFunc{asm.FnProbeReadUser, asm.FnCopyFromUser}
	}
	return []asm.BuiltinFunc{asm.FnProbeReadUser}
}

// loadStringLength puts the length of a string that has one into R2, and jumps to
// failed if the length could not be read or is negative. It changes R1.
func (g *generator) loadStringLength(s *record.String, failed string) {
	if s.Sized {
		g.emit(asm.LoadMem(asm.R2, regRecord, g.inBlock(s.Length), asm.DWord))
		return
	}
	if g.sig.Operands[s.LengthSlot].Kind == operand.Memory {
		g.failedRead(s.LengthSlot, failed)
	}
	g.emit(asm.LoadMem(asm.R2, regRecord, g.recordSlot(s.LengthSlot), asm.DWord))
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

// loadStringPointer puts the address of a string into R3.
func (g *generator) loadStringPointer(s *record.String) {
	at := g.recordSlot(s.Slot)
	if s.Sized {
		at = g.inBlock(s.Pointer)
	}
	g.emit(asm.LoadMem(asm.R3, regRecord, at, asm.DWord))
}

// smallestPage is the smallest page size of any supported architecture.
const smallestPage = 4096

// copyTerminated copies a string up to its NUL, limit+2 bytes at most, from the
// address in the record's slot to the address that to puts into R1. It puts the
// number of bytes without the NUL into R0, jumps to failed if nothing can be
// read, and changes R1 to R5.
func (g *generator) copyTerminated(slot int, to func(), limit int, failed string) {
	ok := g.newLabel("copied")
	pointer := func() { g.emit(asm.LoadMem(asm.R3, regRecord, g.recordSlot(slot), asm.DWord)) }
	pointer()
	g.emit(asm.JLT.Imm(asm.R3, firstPage, failed))
	read := asm.FnProbeReadUserStr
	if g.kind.hook.Kernel {
		read = asm.FnProbeReadStr
	}
	try := func() {
		pointer()
		g.emit(asm.Mov.Imm(asm.R2, int32(limit+2)))
		to()
		g.emit(read.Call(), asm.JSGT.Imm(asm.R0, 0, ok))
	}
	try()
	if g.kind.sleeps {
		g.touchPages(pointer, limit+2, failed)
		try()
	}
	g.emit(asm.Ja.Label(failed))
	g.label(ok)
	g.emit(asm.Sub.Imm(asm.R0, 1)) // the NUL
}

// touchPages brings in the pages that n bytes of a string may reach, from the address
// that load puts into R3. It jumps to failed if there is nothing at that address.
func (g *generator) touchPages(load func(), n int, failed string) {
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
		if page == 0 {
			g.emit(asm.JNE.Imm(asm.R0, 0, failed))
		}
	}
}
