package link

import (
	"errors"
	"fmt"
	"math"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach/internal/shield"
	"github.com/go-usdt/usdt/internal/kernel"
)

// MultiPIDFilter is the feature that the process filter of uprobe_multi links
// filters processes: before Linux 46ba0e49b642 it filtered threads. The fix also
// rejects a negative id before it looks at the path.
var MultiPIDFilter = kernel.Feature{Test: func() error {
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Type:         ebpf.Kprobe,
		AttachType:   ebpf.AttachTraceUprobeMulti,
		Instructions: kernel.EmptyProgram(),
		License:      kernel.License,
	})
	if err != nil {
		return kernel.Refusal(err)
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
	return kernel.Refusal(err)
}}

// Sessions is the feature that a program can run at the entry of a function and
// again when it returns, since Linux 6.13.
var Sessions = kernel.Feature{Test: func() error {
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Type:         ebpf.Kprobe,
		AttachType:   AttachSession,
		Instructions: kernel.EmptyProgram(),
		License:      kernel.License,
	})
	if err != nil {
		return kernel.Refusal(err)
	}
	defer prog.Close()
	// Loading need not check the type of attachment; attaching does.
	m := multi{path: "/", prog: prog, session: true, offsets: []uint64{1}, refCtrOffsets: []uint64{0}, cookies: []uint64{0}}
	if _, err = m.create(); errors.Is(err, unix.EBADF) { // not a regular file
		return nil
	}
	return kernel.Refusal(err)
}}

// manyFunctions are the features that a program can be attached to many functions of the kernel by
// one link, since Linux 7.2.
var manyFunctions = [...]kernel.Feature{
	AtEntry:  {Test: func() error { return tryFunctions(AtEntry) }},
	AtReturn: {Test: func() error { return tryFunctions(AtReturn) }},
	AtBoth:   {Test: func() error { return tryFunctions(AtBoth) }},
}

// tryFunctions attaches to a function that exists for tests of BPF (net/bpf/test_run.c): that the
// program can be loaded proves nothing.
func tryFunctions(w When) error {
	types, err := kernel.Types()
	if err != nil {
		return err
	}
	var function *btf.Func
	if err := types.TypeByName("bpf_fentry_test1", &function); err != nil {
		return fmt.Errorf("find a function to attach to: %w", err)
	}
	id, err := types.TypeID(function)
	if err != nil {
		return err
	}
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Type:         ebpf.Tracing,
		AttachType:   w.Many(),
		Instructions: kernel.EmptyProgram(),
		License:      kernel.License,
	})
	if err != nil {
		return kernel.Refusal(err)
	}
	defer prog.Close()
	fd, err := kernelCalls{}.LinkFunctions(prog, w, []uint32{uint32(id)}, []uint64{0})
	if err != nil {
		return kernel.Refusal(err)
	}
	return shield.Close(fd)
}
