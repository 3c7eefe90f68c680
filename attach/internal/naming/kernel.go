package naming

import (
	"sync"
	"time"

	"github.com/go-usdt/usdt/internal/kallsyms"
	"github.com/go-usdt/usdt/symbols"
)

// kernelNames names the kernel's code. Its zero value has read nothing.
type kernelNames struct {
	mu    sync.Mutex
	table *kallsyms.Table // nil if it was not read, or may not be read
	read  time.Time
}

// readKernelInterval is how long it is not read again which functions the kernel has: they may have
// come since, with a module or a program.
const readKernelInterval = time.Second

// names returns the function of the kernel that runs at an address or, if call, at the call that
// returns there. It has no name if the kernel hides its addresses.
func (k *kernelNames) names(pc uint64, call bool) []symbols.Frame {
	at := pc
	if call {
		at--
	}
	f := symbols.Frame{Address: pc, Module: "[kernel]"}
	fn, offset, ok := k.find(at)
	if !ok {
		return []symbols.Frame{f}
	}
	if f.Func, f.Offset = fn.Name, offset+(pc-at); fn.Module != "" {
		f.Module = "[" + fn.Module + "]"
	}
	return []symbols.Frame{f}
}

func (k *kernelNames) find(at uint64) (fn kallsyms.Function, offset uint64, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.table != nil {
		if fn, offset, ok = k.table.At(at); ok {
			return fn, offset, true
		}
	}
	if time.Since(k.read) < readKernelInterval {
		return fn, 0, false
	}
	k.read = time.Now()
	if table, err := kallsyms.Read(); err == nil {
		k.table = table
		return table.At(at)
	}
	return fn, 0, false
}
