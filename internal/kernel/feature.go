package kernel

import (
	"errors"
	"os"
	"sync"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"
)

// Feature is something that only some kernels have. Only the kernel's own answer
// is kept: this process may get privileges or memory later.
type Feature struct {
	Test func() error // ebpf.ErrNotSupported if it is not there

	mu    sync.Mutex
	known bool
	err   error
}

// Require returns nil if the kernel has the feature, ebpf.ErrNotSupported if not,
// and another error if the kernel could not be asked.
func (f *Feature) Require() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known {
		return f.err
	}
	err := f.Test()
	f.known, f.err = err == nil || errors.Is(err, ebpf.ErrNotSupported), err
	return err
}

// Refusal turns the kernel's error into ebpf.ErrNotSupported, unless the error
// says that nothing was tried.
func Refusal(err error) error {
	for _, other := range []error{os.ErrPermission, unix.ENOMEM, unix.EMFILE, unix.ENFILE, unix.EAGAIN, unix.EINTR} {
		if errors.Is(err, other) {
			return err
		}
	}
	return ebpf.ErrNotSupported
}

// Sleepable is the feature that programs on uprobes may sleep, since Linux 6.0.
var Sleepable = Feature{Test: func() error {
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Type:         ebpf.Kprobe,
		Flags:        unix.BPF_F_SLEEPABLE,
		Instructions: EmptyProgram(),
		License:      License,
	})
	if err != nil {
		return Refusal(err)
	}
	return prog.Close()
}}

// License allows the helpers that read memory.
const License = "Dual MIT/GPL"

// EmptyProgram returns at once.
func EmptyProgram() asm.Instructions {
	return asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()}
}
