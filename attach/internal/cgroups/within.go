package cgroups

import (
	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
)

// levels is how far below the root a control group of a set may be.
const levels = 12

// Within has a program jump to within, or go on, if the task's control group or one above it is in a
// set, and to exit otherwise. It changes R0 to R5 and a slot of the stack.
func Within(groups *ebpf.Map, slot int16, within, exit string) (code asm.Instructions) {
	for level := int32(1); level <= levels; level++ {
		code = append(code,
			asm.Mov.Imm(asm.R1, level),
			asm.FnGetCurrentAncestorCgroupId.Call(), // 0 if the task's own group is above the level
			asm.JEq.Imm(asm.R0, 0, exit),
			asm.StoreMem(asm.R10, slot, asm.R0, asm.DWord),
			asm.LoadMapPtr(asm.R1, groups.FD()),
			asm.Mov.Reg(asm.R2, asm.R10),
			asm.Add.Imm(asm.R2, int32(slot)),
			asm.FnMapLookupElem.Call(),
		)
		if level < levels {
			code = append(code, asm.JNE.Imm(asm.R0, 0, within))
		} else {
			code = append(code, asm.JEq.Imm(asm.R0, 0, exit))
		}
	}
	return code
}
