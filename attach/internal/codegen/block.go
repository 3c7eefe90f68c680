package codegen

import (
	"github.com/cilium/ebpf/asm"

	"github.com/go-usdt/usdt/internal/record"
)

// block is the argument block of a typed probe. The thread has just written it to
// its stack, so it is resident: a record that needs nothing else can be reserved
// before the block is read.
func block() section {
	return section{
		read: func(g *generator) {
			if g.scratch {
				g.readBlock(g.kind.sleeps)
			}
		},
		write: func(g *generator) {
			if !g.scratch {
				g.readBlock(false)
			}
		},
	}
}

// readBlock copies the argument block.
func (g *generator) readBlock(mayCopy bool) {
	if g.sig.Block == 0 {
		return
	}
	load := func() {
		g.emit(g.sig.BlockBase.Load(asm.R3, regContext)...)
		g.emit(asm.Add.Imm(asm.R3, g.sig.BlockDisp))
	}
	g.readUser(load, int32(g.sig.Block), regRecord, g.inBlock(0), g.sig.BlockRead(), mayCopy)
	some := g.newLabel("some")
	load()
	g.emit(asm.JNE.Imm(asm.R3, 0, some))
	g.markError(record.NilBlock)
	g.label(some)
}

// inBlock returns where in the record the byte at an offset from the start of the block lies.
func (g *generator) inBlock(off uint32) int16 {
	return g.sig.BehindHeader(g.sig.BlockOffset() + int(off))
}

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
