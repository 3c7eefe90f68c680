package codegen

import "github.com/cilium/ebpf/asm"

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
