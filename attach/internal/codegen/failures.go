package codegen

import (
	"github.com/cilium/ebpf/asm"

	"github.com/go-usdt/usdt/internal/record"
)

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
