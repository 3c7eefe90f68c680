//go:build !amd64 && !arm64

package stub

import (
	"debug/elf"
	"runtime"
	"unsafe"
)

// This machine has no stubs: nothing can be loaded, so nothing is ever called.
const (
	Machine   = elf.EM_NONE
	Supported = false
	BlockReg  = 0xff
)

var RegisterArgs map[int][]string

func Register(name string) string { return name }

func Memory(int) string { return "" }

var codes []Code

func call(*uintptr, *Block, uint64) {}

func callAt(*uintptr, unsafe.Pointer, uintptr) {}

// Caller returns the address to which the function returns that calls Caller, or, by
// above, one of those above it.
func Caller(above int) uintptr {
	var pc [1]uintptr
	runtime.Callers(3+above, pc[:])
	return pc[0]
}
