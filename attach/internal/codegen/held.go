package codegen

import (
	"math"

	"github.com/cilium/ebpf/asm"

	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/internal/held"
)

// inFile makes the address in dst the one that it has in the file. It changes R4.
func (g *generator) inFile(dst asm.Register, op *operand.Operand) {
	if op.Site == 0 {
		return
	}
	none := g.newLabel("nil")
	g.emit(asm.JEq.Imm(dst, 0, none))
	g.emit(op.InFile(dst, regContext)...)
	g.label(none)
}

// loadSlot puts the value of a slot that has been read into dst. It changes R4.
func (g *generator) loadSlot(dst asm.Register, i uint8) {
	switch op := &g.sig.Operands[i]; {
	case g.scratch:
		g.emit(asm.LoadMem(dst, regRecord, g.recordSlot(int(i)), asm.DWord))
	case op.Kind == operand.Memory:
		g.emit(asm.LoadMem(dst, asm.R10, stackSlot(int(i)), asm.DWord))
	default:
		g.loadOperand(dst, op)
	}
}

// readHeld reads slot i, which has to do with what an interface holds.
func (g *generator) readHeld(op *operand.Operand, i int) {
	dst, off := asm.R10, stackSlot(i)
	if g.scratch {
		dst, off = regRecord, g.recordSlot(i)
	}
	none, known := g.newLabel("other"), g.newLabel("held")
	switch h := &op.Held; h.Role {
	case operand.HeldParts:
		g.loadSlot(asm.R1, h.Word)
		g.emit(asm.Mov.Imm(asm.R3, 0), asm.JEq.Imm(asm.R1, 0, known))
		g.searchTypes(h.Types, 0, h.Types.Len(), known)
		g.label(known)
		g.forget(asm.R3)
		g.emit(asm.StoreMem(dst, off, asm.R3, asm.DWord))
	case operand.HeldAddress:
		g.loadSlot(asm.R1, h.Word)
		for t := range h.Types.Len() {
			g.jumpIfWord(h.Types.At(t).Word, known)
		}
		g.markError(i)
		g.emit(asm.Mov.Imm(asm.R3, 0), asm.Ja.Label(none))
		g.label(known)
		g.loadSlot(asm.R3, h.Data)
		g.label(none)
		g.emit(asm.StoreMem(dst, off, asm.R3, asm.DWord))
		if g.scratch {
			g.emit(asm.StoreMem(asm.R10, stackSlot(i), asm.R3, asm.DWord))
		}
	default:
		g.emit(asm.Mov.Imm(asm.R3, 0), asm.StoreMem(dst, off, asm.R3, asm.DWord))
		address := func() {
			g.loadSlot(asm.R1, h.Word)
			if shift := 16 * int32(h.Part); shift > 0 {
				g.emit(asm.RSh.Imm(asm.R1, shift))
			}
			g.emit(asm.And.Imm(asm.R1, math.MaxUint16))
		}
		address()
		g.emit(asm.JEq.Imm(asm.R1, 0, none))
		g.readUser(func() {
			address()
			g.loadSlot(asm.R3, h.Data)
			g.emit(asm.Add.Reg(asm.R3, asm.R1), asm.Add.Imm(asm.R3, int32(op.Disp)-1))
		}, int32(op.Size), dst, off, i, g.kind.sleeps)
		if op.Site != 0 {
			g.emit(asm.LoadMem(asm.R3, dst, off, asm.DWord))
			g.inFile(asm.R3, op)
			g.emit(asm.StoreMem(dst, off, asm.R3, asm.DWord))
		}
		g.label(none)
	}
}

// heldIn returns the slot of the address of what an interface holds, if an input is there, -1 if not.
func (g *generator) heldIn(in *query.Input) int {
	slot := -1
	switch {
	case in.Source == query.InputOperand:
		slot = in.Index
	case in.Source == query.InputString && !in.String.Sized:
		slot = in.String.Slot
	}
	if slot < 0 || !g.sig.Operands[slot].HasBase || !g.sig.Operands[slot].Base.Slot {
		return -1
	}
	return int(g.sig.Operands[slot].Base.Off)
}

// jumpIfWord jumps if R1 is a number. It changes R2.
func (g *generator) jumpIfWord(word uint64, label string) {
	if word <= math.MaxInt32 {
		g.emit(asm.JEq.Imm(asm.R1, int32(word), label))
		return
	}
	g.emit(asm.LoadImm(asm.R2, int64(word), asm.DWord), asm.JEq.Reg(asm.R1, asm.R2, label))
}

// searchTypes puts the parts of the type whose word is in R1 into R3, if it is one of types low to high,
// and jumps to found in any case. It changes R2.
func (g *generator) searchTypes(types held.Types, low, high int, found string) {
	const few = 4
	if high-low > few {
		mid := (low + high) / 2
		above := g.newLabel("above")
		word := types.At(mid).Word
		if word <= math.MaxInt32 {
			g.emit(asm.JGE.Imm(asm.R1, int32(word), above))
		} else {
			g.emit(asm.LoadImm(asm.R2, int64(word), asm.DWord), asm.JGE.Reg(asm.R1, asm.R2, above))
		}
		g.searchTypes(types, low, mid, found)
		g.label(above)
		g.searchTypes(types, mid, high, found)
		return
	}
	for i := low; i < high; i++ {
		t, here, next := types.At(i), g.newLabel("type"), g.newLabel("next")
		g.jumpIfWord(t.Word, here)
		g.emit(asm.Ja.Label(next))
		g.label(here)
		g.emit(asm.LoadImm(asm.R3, int64(t.Packed()), asm.DWord), asm.Ja.Label(found))
		g.label(next)
	}
	g.emit(asm.Ja.Label(found))
}
