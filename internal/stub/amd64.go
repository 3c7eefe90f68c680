//go:build amd64

package stub

import (
	"fmt"

	"github.com/go-usdt/usdt/notes"
)

// Properties of the machine, as the note's argument strings and
// .stapsdt.types name them.
const (
	Machine   = notes.EM_X86_64
	Supported = true
	BlockReg  = 0     // DWARF number of rax
	BlockName = "rax" // the same in assembler text
)

// RegisterArgs are the registers that hold the first slots, for each size in
// bytes, as the assembler names them.
var RegisterArgs = [...][]string{
	8: {"rdi", "rsi", "rdx", "rcx", "r8", "r9"},
	4: {"edi", "esi", "edx", "ecx", "r8d", "r9d"},
	2: {"di", "si", "dx", "cx", "r8w", "r9w"},
	1: {"dil", "sil", "dl", "cl", "r8b", "r9b"},
}

// Register returns a register operand; Memory returns the operand for the slot or
// field at a byte offset of the block.
func Register(name string) string { return "%" + name }

func Memory(offset int) string {
	if offset == 0 {
		return "(%" + BlockName + ")"
	}
	return fmt.Sprintf("%d(%%%s)", offset, BlockName)
}

var codes = []Code{
	// The stride keeps a site from crossing a page: the kernel optimises only
	// sites that lie within one (arch/x86/kernel/uprobes.c: can_optimize).
	{Site: notes.SiteNop, Stride: 8, Bytes: []byte{
		0x90, // nop
		0xc3, // ret
	}},
	{Site: notes.SiteNop5, Stride: 8, Bytes: []byte{
		0x0f, 0x1f, 0x44, 0x00, 0x00, // nopl 0x0(%rax,%rax,1)
		0xc3, // ret
	}},
	{Site: notes.SiteNop10, Stride: 16, Bytes: []byte{
		0x66, 0x2e, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00, // cs nopw 0x0(%rax,%rax,1)
		0xc3, // ret
	}},
}
