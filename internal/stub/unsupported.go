//go:build !amd64 && !arm64

package stub

import (
	"runtime"
	"unsafe"

	"github.com/go-usdt/usdt/notes"
)

// This machine has no stubs, so nothing can be loaded or called.
const (
	Machine   = notes.EM_NONE
	Supported = false
	BlockReg  = 0xff
)

var RegisterArgs [9][]string

func Register(name string) string { return name }

func Memory(int) string { return "" }

var codes []Code

func call(*uintptr, *Block, uint64) {}

func callAt(*uintptr, unsafe.Pointer, uintptr) {}

// Caller returns the address to which its caller returns or, if above is not 0, to
// which the function that many calls higher returns.
func Caller(above int) uintptr {
	var pc [1]uintptr
	runtime.Callers(3+above, pc[:])
	return pc[0]
}
