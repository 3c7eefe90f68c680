package kernel

import "github.com/cilium/ebpf/asm"

// License allows the helpers that read memory.
const License = "Dual MIT/GPL"

// EmptyProgram returns at once.
func EmptyProgram() asm.Instructions {
	return asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()}
}
