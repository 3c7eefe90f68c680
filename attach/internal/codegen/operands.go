package codegen

import (
	"github.com/cilium/ebpf/asm"

	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/internal/record"
)

// slots is the section of operands: values, or pointers to strings.
func slots() section {
	return section{read: (*generator).readSlots, write: (*generator).writeSlots}
}

func stackSlot(i int) int16 { return int16(stackSlots - 8*(i+1)) }

// recordSlot returns where a slot lies in the record.
func (g *generator) recordSlot(i int) int16 { return g.sig.BehindHeader(record.Slot(i)) }

// readSlots reads operands that are in memory. With scratch memory it reads all,
// since later sections expect pointers to strings there.
func (g *generator) readSlots() {
	for i := range g.sig.Operands {
		op := &g.sig.Operands[i]
		switch {
		case op.Kind == operand.Memory && g.scratch:
			g.readOperand(op, i, regRecord, g.recordSlot(i))
		case op.Kind == operand.Memory:
			g.readOperand(op, i, asm.R10, stackSlot(i))
		case g.scratch:
			g.loadOperand(asm.R3, op)
			g.emit(asm.StoreMem(regRecord, g.recordSlot(i), asm.R3, asm.DWord))
		}
	}
}

func (g *generator) writeSlots() {
	if g.scratch {
		return
	}
	for i := range g.sig.Operands {
		if op := &g.sig.Operands[i]; op.Kind == operand.Memory {
			g.emit(asm.LoadMem(asm.R3, asm.R10, stackSlot(i), asm.DWord))
		} else {
			g.loadOperand(asm.R3, op)
		}
		g.emit(asm.StoreMem(regRecord, g.recordSlot(i), asm.R3, asm.DWord))
	}
}

// readOperand copies a memory operand to 8 bytes at dst+off. Only the first
// op.Size bytes are the value.
func (g *generator) readOperand(op *operand.Operand, i int, dst asm.Register, off int16) {
	if op.Size < 8 || dst == asm.R10 {
		g.emit(asm.Mov.Imm(asm.R1, 0), asm.StoreMem(dst, off, asm.R1, asm.DWord))
	}
	load := func() { g.loadAddress(asm.R3, op) }
	g.readUser(load, int32(op.Size), dst, off, i, g.kind.sleeps)
	if op.Follow {
		// The helpers clear what they cannot read.
		load := func() {
			g.emit(asm.LoadMem(asm.R3, dst, off, asm.DWord), asm.Add.Imm(asm.R3, int32(op.FollowDisp)))
		}
		g.readUser(load, int32(op.Size), dst, off, i, g.kind.sleeps)
	}
}

// loadOperand puts the value of an operand that is not in memory into dst. It
// also changes R4, and R0 to R5 if the operand belongs to the task.
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
	case operand.Task:
		taskNumbers[query.Source(op.Value)](g, dst)
	}
}

// loadAddress puts the address of an operand into dst. It also changes R4.
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
