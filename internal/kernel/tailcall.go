package kernel

import (
	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
)

// TailCall returns instructions that go on with the first program in an array of programs, if it has
// one; no instructions if there is no array. context is the register that has the program's context.
func TailCall(context asm.Register, programs *ebpf.Map) asm.Instructions {
	if programs == nil {
		return nil
	}
	return asm.Instructions{
		asm.Mov.Reg(asm.R1, context),
		asm.LoadMapPtr(asm.R2, programs.FD()),
		asm.Mov.Imm(asm.R3, 0),
		asm.FnTailCall.Call(),
	}
}
