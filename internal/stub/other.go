//go:build !amd64 && !arm64

package stub

import (
	"debug/elf"
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
