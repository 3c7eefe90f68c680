package link

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/features"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach/internal/shield"
)

// multiLinks are uprobe_multi links, which hold many sites.
var multiLinks = mechanism{
	name:       "uprobe_multi",
	program:    ebpf.Kprobe,
	attachment: ebpf.AttachTraceUprobeMulti,
	usable: func(filtered bool) error {
		err := features.HaveBPFLinkUprobeMulti()
		if err == nil && filtered {
			err = MultiPIDFilter.Require()
		}
		return err
	},
	since:  "Linux 6.6 has them, 6.10 with a correct process filter",
	attach: attachMulti,
}

// maxMulti is MAX_UPROBE_MULTI_CNT, kernel/trace/bpf_trace.c.
const maxMulti = 1 << 20

// attachMulti attaches by as few links as possible.
func attachMulti(ctx context.Context, a *attempt) error {
	for start, end := range chunks(len(a.Sites)) {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err := a.attachMulti(start, end); err != nil {
			return err
		}
	}
	return nil
}

// chunks yields the parts of n sites that are not too many for one link.
func chunks(n int) iter.Seq2[int, int] {
	return func(yield func(start, end int) bool) {
		for start := 0; start < n; start += maxMulti {
			if !yield(start, min(start+maxMulti, n)) {
				return
			}
		}
	}
}

// attachMulti attaches sites start to end. The kernel attaches all or none:
// attachMulti finds a refused site by halving, and does not try others with its
// opcode.
func (a *attempt) attachMulti(start, end int) error {
	sites := make([]int, 0, end-start)
	for i := start; i < end; i++ {
		if err := a.opcodes[a.Sites[i].Opcode]; err != nil {
			a.outcomes[i] = err
			continue
		}
		sites = append(sites, i)
	}
	if len(sites) == 0 {
		return nil
	}
	fd, err := a.calls.LinkMulti(a.Group, sites)
	if err == nil && a.ended() {
		err = errors.Join(unix.ESRCH, shield.Close(fd))
	}
	if err == nil {
		for _, i := range sites {
			a.outcomes[i] = nil
		}
		a.links = append(a.links, Link{File: a.File, PID: a.PID, Prog: a.Prog, fd: fd, event: -1})
		return nil
	}
	if whole := a.wholeError(err); whole != nil {
		return whole
	}
	if len(sites) == 1 {
		a.refuse(sites[0], err)
		return nil
	}
	middle := start + (end-start)/2
	if err := a.attachMulti(start, middle); err != nil {
		return err
	}
	return a.attachMulti(middle, end)
}

// multiReturn is BPF_F_UPROBE_MULTI_RETURN, include/uapi/linux/bpf.h.
const multiReturn = 1

// AttachSession is BPF_TRACE_UPROBE_SESSION in the same file, which
// cilium/ebpf has no name for.
const AttachSession ebpf.AttachType = 57

// multi is a uprobe_multi link to be made. The slices are of equal length.
type multi struct {
	path                            string
	prog                            *ebpf.Program
	offsets, refCtrOffsets, cookies []uint64
	pid                             int
	flags                           uint32
	session                         bool // the program was loaded for AttachSession
}

// create attaches, and returns the link's descriptor. It does what
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
		typ = AttachSession
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
