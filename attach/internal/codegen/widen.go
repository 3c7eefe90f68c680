package codegen

import (
	"github.com/cilium/ebpf/asm"

	"github.com/go-usdt/usdt/attach/internal/query"
)

// unlessExceeds jumps to lost if R1 is no number of the common kind.
func (g *generator) unlessExceeds(in *query.Input, lost string) {
	if in.MayExceed() {
		g.emit(asm.JSLT.Imm(asm.R1, 0, lost))
	}
}

// markSign marks part i of a key, whose value is in R1, if that has the other sign. It changes
// R1 to R3.
func (g *generator) markSign(part *query.Part, key asm.Register, marks int16, i int) {
	if !part.In.MayExceed() {
		return
	}
	fits := g.newLabel("fits")
	g.emit(asm.JSGE.Imm(asm.R1, 0, fits), asm.Mov.Imm(asm.R3, query.MarkSign))
	g.setMark(key, marks, i)
	g.label(fits)
}
