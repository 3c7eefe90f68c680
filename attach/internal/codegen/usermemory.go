package codegen

import (
	"github.com/cilium/ebpf/asm"

	"github.com/go-usdt/usdt/internal/record"
)

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
