package cgroups

import "github.com/cilium/ebpf/asm"

// levels is how far below the root of version 2 a selected control group may be and, in version 1, how
// far above that of the task.
const levels = 12

// Within has a program jump to within, or go on, if the task's control group or one above it is
// selected, and to exit otherwise. It changes R0 to R5, R7, and two words of the stack from slot on down.
func (w *Watch) Within(slot int16, within, exit string) (code asm.Instructions) {
	const firstV1 = "within_v1"
	if !w.two {
		return w.withinV1(slot, within, exit)
	}
	for level := int32(1); level <= levels; level++ {
		code = append(code,
			asm.Mov.Imm(asm.R1, level),
			asm.FnGetCurrentAncestorCgroupId.Call(), // 0 if the task's own group is above the level
		)
		if level == 1 && w.layout != nil { // in the root
			code = append(code, asm.JEq.Imm(asm.R0, 0, firstV1))
		} else {
			code = append(code, asm.JEq.Imm(asm.R0, 0, exit))
		}
		code = append(code, asm.StoreMem(asm.R10, slot, asm.R0, asm.DWord))
		code = append(code, w.lookup(slot)...)
		code = append(code, asm.JNE.Imm(asm.R0, 0, within))
	}
	code = append(code, asm.Ja.Label(exit))
	if w.layout == nil {
		return code
	}
	v1 := w.withinV1(slot, within, exit)
	v1[0] = v1[0].WithSymbol(firstV1)
	return append(code, v1...)
}

// withinV1 is Within for groups of version 1.
func (w *Watch) withinV1(slot int16, within, exit string) asm.Instructions {
	word := slot - 8
	code := w.layout.nodeOf(word, true)
	code = append(code, asm.LoadMem(asm.R7, asm.R10, word, asm.DWord))
	for range levels {
		code = append(code, asm.Mov.Reg(asm.R3, asm.R7))
		code = append(code, read(word, w.layout.id)...)
		code = append(code,
			asm.LoadMem(asm.R1, asm.R10, word, asm.DWord),
			asm.Mov.Imm(asm.R0, 1), asm.LSh.Imm(asm.R0, 63),
			asm.Or.Reg(asm.R1, asm.R0),
			asm.StoreMem(asm.R10, slot, asm.R1, asm.DWord),
		)
		code = append(code, w.lookup(slot)...)
		code = append(code, asm.JNE.Imm(asm.R0, 0, within), asm.Mov.Reg(asm.R3, asm.R7))
		code = append(code, read(word, w.layout.parent)...)
		code = append(code, asm.LoadMem(asm.R7, asm.R10, word, asm.DWord), asm.JEq.Imm(asm.R7, 0, exit))
	}
	return append(code, asm.Ja.Label(exit))
}

// lookup looks for the id at slot.
func (w *Watch) lookup(slot int16) asm.Instructions {
	return asm.Instructions{
		asm.LoadMapPtr(asm.R1, w.Map.FD()),
		asm.Mov.Reg(asm.R2, asm.R10),
		asm.Add.Imm(asm.R2, int32(slot)),
		asm.FnMapLookupElem.Call(),
	}
}
