package kernel

import (
	"sync"
	"weak"

	"github.com/cilium/ebpf/btf"
)

// loaded are the kernel's types, as long as somebody uses them.
var loaded struct {
	sync.Mutex
	types weak.Pointer[btf.Spec]
}

// Types returns the types of the running kernel, which goroutines may share. Reading them takes tens of
// milliseconds and some megabytes, and several rooms look up members at the beginning of a session: they share what is
// read, and the collector takes it afterwards.
func Types() (*btf.Spec, error) {
	loaded.Lock()
	defer loaded.Unlock()
	if types := loaded.types.Value(); types != nil {
		return types, nil
	}
	types, err := btf.LoadKernelSpec()
	if err != nil {
		return nil, err
	}
	loaded.types = weak.Make(types)
	return types, nil
}
