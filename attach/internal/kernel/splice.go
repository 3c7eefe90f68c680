package kernel

import (
	"slices"

	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
)

// Over has a jump leave out as many instructions.
func Over(jump asm.Instruction, n int16) asm.Instruction {
	jump.Offset = n
	return jump
}

// InFront returns a program that does more before what it did. Jumps are relative,
// and so remain true. What makes the first instruction the beginning of a function
// goes to the new one: its symbol, its type and the line of its source.
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
		*begin = begin.WithSource(line) // and on to what follows
	}
	return code
}
