package codegen

import (
	"github.com/cilium/ebpf/asm"

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
	g.copyTerminated(s.Slot, g.toCursor, g.sig.Limit, failed)
	g.emit(
		asm.StoreMem(regRecord, g.recordSlot(s.Slot), asm.R0, asm.DWord),
		asm.Add.Reg(regCursor, asm.R0),
	)
}

// toCursor puts the address of the next string into R1.
func (g *generator) toCursor() {
	g.emit(asm.Mov.Reg(asm.R1, regRecord), asm.Add.Reg(asm.R1, regCursor))
}
