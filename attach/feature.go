package attach

import (
	"errors"
	"math"
	"os"
	"sync"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

// feature is something that kernels have or have not. Only the kernel's own
// answer is kept: this process may get privileges later, and memory.
type feature struct {
	ask func() error // ebpf.ErrNotSupported if it is not there

	mu    sync.Mutex
	known bool
	err   error
}

// require returns nil if the kernel has the feature, ebpf.ErrNotSupported if not,
// and another error if it could not be asked.
func (f *feature) require() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known {
		return f.err
	}
	err := f.ask()
	f.known, f.err = err == nil || errors.Is(err, ebpf.ErrNotSupported), err
	return err
}

// refusal turns the kernel's error into ebpf.ErrNotSupported, unless it says that
// nothing was tried.
func refusal(err error) error {
	for _, other := range []error{os.ErrPermission, unix.ENOMEM, unix.EMFILE, unix.ENFILE, unix.EAGAIN, unix.EINTR} {
		if errors.Is(err, other) {
			return err
		}
	}
	return ebpf.ErrNotSupported
}

// multiPIDFilter is that the process filter of uprobe_multi links filters
// processes: before Linux 46ba0e49b642 it filtered threads. The fix also rejects
// a negative id before it looks at the path.
var multiPIDFilter = feature{ask: func() error {
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Type:         ebpf.Kprobe,
		AttachType:   ebpf.AttachTraceUprobeMulti,
		Instructions: emptyProgram(),
		License:      programLicense,
	})
	if err != nil {
		return refusal(err)
	}
	defer prog.Close()
	ex, err := link.OpenExecutable("/")
	if err != nil {
		return err
	}
	l, err := ex.UprobeMulti(nil, prog, &link.UprobeMultiOptions{Addresses: []uint64{1}, PID: math.MaxUint32})
	switch {
	case err == nil:
		l.Close()
		return ebpf.ErrNotSupported
	case errors.Is(err, unix.EINVAL):
		return nil
	}
	return refusal(err)
}}

// sessions is that a program can run at the entry of a function and again when
// it returns, which Linux 6.13 brought.
var sessions = feature{ask: func() error {
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Type:         ebpf.Kprobe,
		AttachType:   traceUprobeSession,
		Instructions: emptyProgram(),
		License:      programLicense,
	})
	if err != nil {
		return refusal(err)
	}
	defer prog.Close()
	// Loading need not check the type of attachment, attaching does.
	m := multi{path: "/", prog: prog, session: true, offsets: []uint64{1}, refCtrOffsets: []uint64{0}, cookies: []uint64{0}}
	if _, err = m.create(); errors.Is(err, unix.EBADF) { // not a regular file
		return nil
	}
	return refusal(err)
}}

// sleepable is that programs on uprobes may sleep, which Linux 6.0 brought.
var sleepable = feature{ask: func() error {
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Type:         ebpf.Kprobe,
		Flags:        unix.BPF_F_SLEEPABLE,
		Instructions: emptyProgram(),
		License:      programLicense,
	})
	if err != nil {
		return refusal(err)
	}
	return prog.Close()
}}
