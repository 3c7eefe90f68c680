package attach

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach/internal/shield"
)

// multiReturn is BPF_F_UPROBE_MULTI_RETURN, include/uapi/linux/bpf.h.
const multiReturn = 1

// traceUprobeSession is BPF_TRACE_UPROBE_SESSION in the same file, which
// cilium/ebpf has no name for.
const traceUprobeSession ebpf.AttachType = 57

// multi is a uprobe_multi link to be made. The slices are of equal length.
type multi struct {
	path                            string
	prog                            *ebpf.Program
	offsets, refCtrOffsets, cookies []uint64
	pid                             int
	flags                           uint32
	session                         bool // the program was loaded for traceUprobeSession
}

// create attaches, and returns the link's descriptor. It is what
// link.Executable.UprobeMulti does, but cannot be interrupted: see package
// shield.
func (m *multi) create() (fd int, err error) {
	path, err := unix.BytePtrFromString(m.path)
	if err != nil {
		return 0, fmt.Errorf("path %q: %w", m.path, err)
	}
	var pin runtime.Pinner
	defer pin.Unpin()
	address := func(s []uint64) uint64 {
		pin.Pin(&s[0])
		return uint64(uintptr(unsafe.Pointer(&s[0])))
	}
	pin.Pin(path)
	typ := ebpf.AttachTraceUprobeMulti
	if m.session {
		typ = traceUprobeSession
	}
	// The part of union bpf_attr that BPF_LINK_CREATE reads for uprobe_multi
	// (include/uapi/linux/bpf.h).
	attr := struct {
		prog, target, attachType, flags       uint32
		path, offsets, refCtrOffsets, cookies uint64
		count, multiFlags, pid, _             uint32
	}{
		prog:          uint32(m.prog.FD()),
		attachType:    uint32(typ),
		path:          uint64(uintptr(unsafe.Pointer(path))),
		offsets:       address(m.offsets),
		refCtrOffsets: address(m.refCtrOffsets),
		cookies:       address(m.cookies),
		count:         uint32(len(m.offsets)),
		multiFlags:    m.flags,
		pid:           uint32(m.pid),
	}
	return createLink(m.prog, unsafe.Pointer(&attr), unsafe.Sizeof(attr))
}

// createLink calls BPF_LINK_CREATE.
func createLink(prog *ebpf.Program, attr unsafe.Pointer, size uintptr) (fd int, err error) {
	r, err := shield.Syscall(unix.SYS_BPF, unix.BPF_LINK_CREATE, uintptr(attr), size, 0, 0)
	runtime.KeepAlive(prog)
	return int(r), err
}
