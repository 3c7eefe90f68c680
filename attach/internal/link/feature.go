package link

import (
	"errors"
	"math"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

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
