package kernel

import (
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
)

// CallFunction calls a function of the kernel itself, no module's, by its id in BTF.
func CallFunction(id btf.TypeID) asm.Instruction {
	return asm.Instruction{OpCode: asm.OpCode(asm.JumpClass).SetJumpOp(asm.Call), Src: asm.PseudoKfuncCall, Constant: int64(id)}
}

// CallFunctions are the functions of the kernel that programs at entries and returns call, by their
// ids in its BTF.
type CallFunctions struct {
	IsReturn btf.TypeID // whether the program runs at the return
	Cookie   btf.TypeID // the address of 8 bytes that the entry keeps for the return
}

// FindCallFunctions returns them; the error wraps ebpf.ErrNotSupported if the kernel lacks them.
func FindCallFunctions() (f CallFunctions, err error) {
	types, err := Types()
	if err != nil {
		return f, err
	}
	for name, id := range map[string]*btf.TypeID{"bpf_session_is_return": &f.IsReturn, "bpf_session_cookie": &f.Cookie} {
		var function *btf.Func
		if err := types.TypeByName(name, &function); err != nil {
			return f, fmt.Errorf("the kernel has no %s (%w): %w", name, err, ebpf.ErrNotSupported)
		}
		if *id, err = types.TypeID(function); err != nil {
			return f, err
		}
	}
	return f, nil
}
