package kernel

import (
	"slices"

	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
)

// Over makes a jump skip n instructions.
func Over(jump asm.Instruction, n int16) asm.Instruction {
	jump.Offset = n
	return jump
}

// InFront returns a program that runs more before old. Jumps are relative and
// stay valid. The symbol, type and source line that make the first instruction
// the beginning of a function move to the new first instruction.
func InFront(more, old asm.Instructions) asm.Instructions {
	code := slices.Concat(more, old)
	begin, first := &code[0], &code[len(more)]
	if name := first.Symbol(); name != "" {
		*begin, *first = begin.WithSymbol(name), first.WithSymbol("")
	}
	if function := btf.FuncMetadata(first); function != nil {
		*begin, *first = btf.WithFuncMetadata(*begin, function), btf.WithFuncMetadata(*first, nil)
	}
	if line := first.Source(); line != nil {
		*begin = begin.WithSource(line) // and of the instructions that follow
	}
	return code
}
