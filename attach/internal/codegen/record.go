package codegen

import (
	"github.com/cilium/ebpf/asm"
	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/internal/record"
)

// emitFixed sends a record whose size is known, written in place. What may
// sleep comes first: a record that is reserved holds up those behind it.
func (g *generator) emitFixed() {
	for i := range g.sig.Operands {
		if op := &g.sig.Operands[i]; op.Kind == operand.Memory {
			g.readOperand(op, i, asm.R10, stackSlot(i))
		}
	}
	g.where("filtered")
	g.emit(
		asm.LoadMapPtr(asm.R1, g.refs.Ring.FD()),
		asm.Mov.Imm(asm.R2, int32(g.sig.FixedSize())),
		asm.Mov.Imm(asm.R3, 0),
		asm.FnRingbufReserve.Call(),
		asm.JEq.Imm(asm.R0, 0, "lost"),
		asm.Mov.Reg(regRecord, asm.R0),
	)
	g.header()
	for i := range g.sig.Operands {
		if op := &g.sig.Operands[i]; op.Kind == operand.Memory {
			g.emit(asm.LoadMem(asm.R3, asm.R10, stackSlot(i), asm.DWord))
		} else {
			g.loadOperand(asm.R3, op)
		}
		g.emit(asm.StoreMem(regRecord, recordSlot(i), asm.R3, asm.DWord))
	}
	g.readBlock(false)
	g.storeErrors()
	g.emit(
		asm.Mov.Reg(asm.R1, regRecord),
		asm.Mov.Imm(asm.R2, 0),
		asm.FnRingbufSubmit.Call(),
	)
	g.emit(asm.Ja.Label("exit"))
}

func stackSlot(i int) int16  { return int16(stackSlots - 8*(i+1)) }
func recordSlot(i int) int16 { return int16(record.Slot(i)) }

// emitVariable puts a record together in scratch memory and sends what it used.
func (g *generator) emitVariable() {
	unwanted := g.newLabel("unwanted")
	g.takeScratch()
	g.emit(asm.Add.Imm(regRecord, scratchPad))
	for i := range g.sig.Operands {
		op := &g.sig.Operands[i]
		if op.Kind == operand.Memory {
			g.readOperand(op, i, regRecord, recordSlot(i))
			continue
		}
		g.loadOperand(asm.R3, op)
		g.emit(asm.StoreMem(regRecord, recordSlot(i), asm.R3, asm.DWord))
	}
	g.readBlock(g.kind.sleeps)
	g.readIndirects()
	g.where(unwanted)
	g.header()
	g.emit(asm.Mov.Imm(regCursor, int32(g.sig.FixedSize())))
	bit := g.sig.FirstString()
	for _, s := range g.sig.Strings {
		g.readString(s, bit)
		bit++
	}
	g.storeErrors()
	g.emit(
		asm.LoadMapPtr(asm.R1, g.refs.Ring.FD()),
		asm.Mov.Reg(asm.R2, regRecord),
		asm.Mov.Reg(asm.R3, regCursor),
		asm.Mov.Imm(asm.R4, 0),
		asm.FnRingbufOutput.Call(),
	)
	g.releaseScratch()
	g.emit(
		asm.JNE.Imm(asm.R0, 0, "lost"),
		asm.Ja.Label("exit"),
	)
	if g.sig.Where != nil {
		g.label(unwanted)
		g.releaseScratch()
		g.emit(asm.Ja.Label("filtered"))
	}
}

func (g *generator) header() {
	g.emit(
		asm.StoreMem(regRecord, record.Site, regSite, asm.Word),
		asm.FnKtimeGetNs.Call(),
		asm.StoreMem(regRecord, record.Time, asm.R0, asm.DWord),
	)
	g.loadTask()
	g.emit(
		asm.StoreMem(regRecord, record.Task, asm.R0, asm.DWord),
		asm.Mov.Reg(asm.R1, regRecord),
		asm.Add.Imm(asm.R1, record.Comm),
		asm.Mov.Imm(asm.R2, 16),
		asm.FnGetCurrentComm.Call(),
	)
}
