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
		g.loadLocation(asm.R3, g.sig.BlockBase)
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
