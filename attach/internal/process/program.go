package process

import (
	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"github.com/go-usdt/usdt/internal/kernel"
)

// InTable returns the code that jumps to no in processes that are not in a table of [NewTable]. R0 has the
// PID, and 4 bytes of the stack at slot are free. It changes R0 to R5, R7 and R8. With lifetimes, processes
// are also told apart by when they were started.
func InTable(table *ebpf.Map, lifetimes bool, slot int16, no string) asm.Instructions {
	code := asm.Instructions{
		asm.StoreMem(asm.R10, slot, asm.R0, asm.Word),
		asm.LoadMapPtr(asm.R1, table.FD()),
		asm.Mov.Reg(asm.R2, asm.R10),
		asm.Add.Imm(asm.R2, int32(slot)),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, no),
	}
	if lifetimes {
		code = append(code, asm.LoadMem(asm.R7, asm.R0, 0, asm.DWord), asm.LoadMem(asm.R8, asm.R0, 8, asm.DWord))
		code = append(code, outlives(no)...)
	}
	return code
}

// IsOnly is InTable for an array of [NewOnly]. A lookup takes as long as all else that a program does to
// count.
func IsOnly(array *ebpf.Map, lifetimes bool, no string) asm.Instructions {
	code := asm.Instructions{
		asm.LoadMapValue(asm.R7, array.FD(), 0),
		asm.LoadMem(asm.R1, asm.R7, 0, asm.DWord),
		asm.JNE.Reg(asm.R1, asm.R0, no),
	}
	if lifetimes {
		code = append(code, asm.LoadMem(asm.R8, asm.R7, 16, asm.DWord), asm.LoadMem(asm.R7, asm.R7, 8, asm.DWord))
		code = append(code, outlives(no)...)
	}
	return code
}

// outlives returns the code that jumps to no in a process that was not started at R7, or within R8 of it.
func outlives(no string) asm.Instructions {
	return append(kernel.LoadStartTime(asm.R1), asm.Sub.Reg(asm.R1, asm.R7), asm.JGE.Reg(asm.R1, asm.R8, no))
}
