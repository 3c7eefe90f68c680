package codegen

import (
	"github.com/cilium/ebpf/asm"

	"github.com/go-usdt/usdt/attach/internal/operand"
)

// loadOperand puts the value of an operand that is not in memory into dst. It
// changes R4 too, and R0 to R5 if the operand is the CPU or the user.
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
	case operand.CPU:
		g.emit(asm.FnGetSmpProcessorId.Call(), asm.Mov.Reg(dst, asm.R0))
	case operand.UID:
		g.emit(asm.FnGetCurrentUidGid.Call(), asm.Mov.Reg(dst, asm.R0))
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
