//go:build arm64

package stub

import (
	"fmt"

	"github.com/go-usdt/usdt/notes"
)

// Properties of the machine, as the note's argument strings and
// .stapsdt.types name them.
const (
	Machine   = notes.EM_AARCH64
	Supported = true
	BlockReg  = 8    // DWARF number of x8
	BlockName = "x8" // the same in assembler text
)

var registers = []string{"x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7"}

// RegisterArgs are the registers that hold the first slots, for each size in bytes.
// All sizes have the names of x registers, as compilers print them, since not every
// consumer knows the w names.
var RegisterArgs = [...][]string{8: registers, 4: registers, 2: registers, 1: registers}

// Register returns a register operand; Memory returns the operand for the slot or
// field at a byte offset of the block.
func Register(name string) string { return name }

func Memory(offset int) string {
	if offset == 0 {
		return "[" + BlockName + "]"
	}
	return fmt.Sprintf("[%s, %d]", BlockName, offset)
}

var codes = []Code{
	{Site: notes.SiteNop, Stride: 8, Bytes: []byte{
		0x1f, 0x20, 0x03, 0xd5, // nop
		0xc0, 0x03, 0x5f, 0xd6, // ret
	}},
}
