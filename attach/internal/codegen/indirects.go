package codegen

import (
	"github.com/cilium/ebpf/asm"

	"github.com/go-usdt/usdt/internal/record"
)

// indirects is the section of the memory that pointers in the block lead to.
func indirects() section { return section{read: (*generator).readIndirects} }

// readIndirects copies the memory that pointers in the block lead to. Memory that
// cannot be read is zero, so that no pointer in it is followed.
func (g *generator) readIndirects() {
	for i, in := range g.sig.Indirects {
		bit := g.sig.BlockRead() + 1 + i
		to, from := g.inBlock(in.Offset), g.inBlock(in.Pointer)
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
