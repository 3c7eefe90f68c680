package link

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach/internal/shield"
)

// Calls are the system calls by which groups are attached. Tests put their own in the
// kernel's place. The descriptors are closed by [Link].
type Calls interface {
	// LinkMulti makes a uprobe_multi link for the group's sites with those indices.
	LinkMulti(g *Group, sites []int) (fd int, err error)
	// LinkKernel makes a kprobe_multi link for the group's sites with those indices.
	LinkKernel(g *Group, sites []int) (fd int, err error)
	// OpenKprobe opens a perf event on a function of the kernel.
	OpenKprobe(g *Group, s *Site) (fd int, err error)
	// OpenTracepoint opens a perf event on a tracepoint of the kernel.
	OpenTracepoint(g *Group, s *Site) (fd int, err error)
	// OpenUprobe opens a perf event on a uprobe at a site.
	OpenUprobe(g *Group, s *Site) (fd int, err error)
	// LinkEvent links the group's program to a perf event.
	LinkEvent(g *Group, event int, cookie uint64) (fd int, err error)
}

// FunctionCalls are the system calls by which [Functions] are attached to.
type FunctionCalls interface {
	// HaveMany reports whether the kernel has links of many functions.
	HaveMany(w When) (bool, error)
	// LinkFunctions makes a link of the functions with ids, which ascend. Each has a cookie.
	LinkFunctions(prog *ebpf.Program, w When, ids []uint32, cookies []uint64) (fd int, err error)
	// LinkFunction makes a link of the function for which the program was loaded.
	LinkFunction(prog *ebpf.Program, w When, cookie uint64) (fd int, err error)
	// FunctionsOf returns the ids of a link's functions, no more than most, and their
	// addresses, which are 0 if the kernel hides them.
	FunctionsOf(fd, most int) (ids []uint32, addresses []uint64, err error)
}

type kernelCalls struct{}

func (kernelCalls) LinkMulti(g *Group, sites []int) (fd int, err error) {
	m := multi{path: g.Open, prog: g.Prog, pid: g.PID, session: g.Session}
	if g.Returns {
		m.flags = multiReturn
	}
	n := len(sites)
	m.cookies, m.offsets, m.refCtrOffsets = make([]uint64, n), make([]uint64, n), make([]uint64, n)
	for k, i := range sites {
		s := &g.Sites[i]
		m.cookies[k], m.offsets[k], m.refCtrOffsets[k] = s.Cookie, s.Offset, s.RefCtrOffset
	}
	return m.create()
}

func (kernelCalls) OpenUprobe(g *Group, s *Site) (fd int, err error) {
	if fd, err = openUprobe(g.Open, s.Offset, s.RefCtrOffset, g.PID, g.Returns); err != nil {
		err = fmt.Errorf("perf_event_open: %w", err)
	}
	return fd, err
}

func (kernelCalls) LinkEvent(g *Group, event int, cookie uint64) (fd int, err error) {
	// See multi.create.
	attr := struct {
		prog, target, attachType, flags uint32
		cookie                          uint64
	}{uint32(g.Prog.FD()), uint32(event), uint32(ebpf.AttachPerfEvent), 0, cookie}
	return createLink(g.Prog, unsafe.Pointer(&attr), unsafe.Sizeof(attr))
}

func (kernelCalls) HaveMany(w When) (bool, error) {
	err := manyFunctions[w].Require()
	if errors.Is(err, ebpf.ErrNotSupported) {
		return false, nil
	}
	return err == nil, err
}

func (kernelCalls) LinkFunctions(prog *ebpf.Program, w When, ids []uint32, cookies []uint64) (fd int, err error) {
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(&ids[0])
	pin.Pin(&cookies[0])
	// The part of union bpf_attr that BPF_LINK_CREATE reads for tracing_multi (include/uapi/linux/bpf.h).
	attr := struct {
		prog, target, attachType, flags uint32
		ids, cookies                    uint64
		count, _                        uint32
	}{
		prog:       uint32(prog.FD()),
		attachType: uint32(w.Many()),
		ids:        uint64(uintptr(unsafe.Pointer(&ids[0]))),
		cookies:    uint64(uintptr(unsafe.Pointer(&cookies[0]))),
		count:      uint32(len(ids)),
	}
	return createLink(prog, unsafe.Pointer(&attr), unsafe.Sizeof(attr))
}

func (kernelCalls) LinkFunction(prog *ebpf.Program, w When, cookie uint64) (fd int, err error) {
	// The part of union bpf_attr that BPF_LINK_CREATE reads for tracing programs. The type was
	// chosen when the program was loaded, and so was the function. See multi.create.
	attr := struct {
		prog, target, attachType, flags uint32
		targetID, _                     uint32
		cookie                          uint64
	}{prog: uint32(prog.FD()), attachType: uint32(w.Single()), cookie: cookie}
	return createLink(prog, unsafe.Pointer(&attr), unsafe.Sizeof(attr))
}

func (kernelCalls) FunctionsOf(fd, most int) (ids []uint32, addresses []uint64, err error) {
	ids, addresses = make([]uint32, max(most, 1)), make([]uint64, max(most, 1))
	// The part of struct bpf_link_info for tracing_multi (include/uapi/linux/bpf.h). The kernel fills the
	// arrays, so they stay where they are until it has.
	info := &struct {
		typ, id, prog, _        uint32
		attachType, count       uint32
		object, _               uint32
		ids, addresses, cookies uint64
	}{count: uint32(most)}
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(&ids[0])
	pin.Pin(&addresses[0])
	info.ids, info.addresses = uint64(uintptr(unsafe.Pointer(&ids[0]))), uint64(uintptr(unsafe.Pointer(&addresses[0])))
	if err := fill(fd, info); err != nil {
		return nil, nil, err
	}
	if int(info.count) > most {
		return nil, nil, fmt.Errorf("the link has %d functions, and %d were asked for", info.count, most)
	}
	return ids[:info.count], addresses[:info.count], nil
}

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

// openUprobe opens a perf event on a uprobe, which places the breakpoint. pid 0
// means every process.
func openUprobe(path string, offset, semaphoreOffset uint64, pid int, returns bool) (fd int, err error) {
	typ, err := uprobePMU()
	if err != nil {
		return 0, err
	}
	name, err := unix.BytePtrFromString(path)
	if err != nil {
		return 0, fmt.Errorf("path %q: %w", path, err)
	}
	cpu := -1
	if pid == 0 {
		pid, cpu = -1, 0
	}
	config := semaphoreOffset << 32
	if returns {
		config |= 1 // PERF_PROBE_CONFIG_IS_RETPROBE, kernel/events/core.c
	}
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(name)
	attr := unix.PerfEventAttr{
		Type:   typ,
		Size:   uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Config: config,
		Ext1:   uint64(uintptr(unsafe.Pointer(name))),
		Ext2:   offset,
	}
	r, err := shield.Syscall(unix.SYS_PERF_EVENT_OPEN, uintptr(unsafe.Pointer(&attr)), uintptr(pid), uintptr(cpu), ^uintptr(0), unix.PERF_FLAG_FD_CLOEXEC)
	return int(r), err
}

// infoOf returns how many sites a uprobe_multi link has, and the process that it is
// restricted to, 0 for none.
func infoOf(fd int) (count, pid uint32, err error) {
	// Info of cilium/ebpf would give the same, but takes the descriptor over, and copies
	// the offsets, cookies and semaphores of all sites at each rescan. linkInfo is the
	// part of struct bpf_link_info (include/uapi/linux/bpf.h) that is filled for these
	// links.
	type linkInfo struct {
		_                [4]uint32 // type, id, prog_id, padding
		_                [4]uint64 // path, offsets, ref_ctr_offsets, cookies
		_, count, _, pid uint32    // path_size, count, flags, pid
	}
	info := new(linkInfo)
	err = fill(fd, info)
	return info.count, info.pid, err
}

// multiKernel is what BPF_LINK_CREATE reads for kprobe_multi (include/uapi/linux/bpf.h).
type multiKernel struct {
	prog, target, attachType, flags uint32
	multiFlags, count               uint32
	symbols, addresses, cookies     uint64
}

func (kernelCalls) LinkKernel(g *Group, sites []int) (fd int, err error) {
	addresses, cookies := make([]uint64, len(sites)), make([]uint64, len(sites))
	for k, i := range sites {
		addresses[k], cookies[k] = g.Sites[i].Offset, g.Sites[i].Cookie
	}
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(&addresses[0])
	pin.Pin(&cookies[0])
	attr := multiKernel{
		prog: uint32(g.Prog.FD()), attachType: uint32(ebpf.AttachTraceKprobeMulti), count: uint32(len(sites)),
		addresses: uint64(uintptr(unsafe.Pointer(&addresses[0]))), cookies: uint64(uintptr(unsafe.Pointer(&cookies[0]))),
	}
	if g.Session {
		attr.attachType = uint32(ebpf.AttachTraceKprobeSession)
	}
	if g.Returns {
		attr.multiFlags = 1 // BPF_F_KPROBE_MULTI_RETURN
	}
	// The kernel patches itself also in a process that is being killed, so that package shield is not needed.
	r, _, errno := unix.Syscall(unix.SYS_BPF, unix.BPF_LINK_CREATE, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
	runtime.KeepAlive(g.Prog)
	if errno != 0 {
		return 0, errno
	}
	return int(r), nil
}

func (kernelCalls) OpenKprobe(g *Group, s *Site) (fd int, err error) {
	typ, err := kprobePMU()
	if err != nil {
		return 0, err
	}
	attr := unix.PerfEventAttr{Type: typ, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Ext2: s.Offset} // kprobe_addr
	if g.Returns {
		attr.Config = 1 // PERF_PROBE_CONFIG_IS_RETPROBE, kernel/events/core.c
	}
	r, err := shield.Syscall(unix.SYS_PERF_EVENT_OPEN, uintptr(unsafe.Pointer(&attr)), ^uintptr(0), 0, ^uintptr(0), unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return 0, fmt.Errorf("perf_event_open: %w", err)
	}
	return int(r), nil
}

func (kernelCalls) OpenTracepoint(_ *Group, s *Site) (fd int, err error) {
	attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_TRACEPOINT, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Config: s.Offset}
	// Programs run on all processors, although the event is for one.
	r, err := shield.Syscall(unix.SYS_PERF_EVENT_OPEN, uintptr(unsafe.Pointer(&attr)), ^uintptr(0), 0, ^uintptr(0), unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return 0, fmt.Errorf("perf_event_open: %w", err)
	}
	return int(r), nil
}

// wordsOf returns the beginning of what the kernel knows of a link (struct bpf_link_info,
// include/uapi/linux/bpf.h).
func wordsOf(fd int) (*[16]uint64, error) {
	info := new([16]uint64)
	err := fill(fd, info)
	return info, err
}

// fill has the kernel write what it knows of a link to info, the beginning of struct bpf_link_info. The pin
// keeps it where it is until the kernel has.
func fill[T any](fd int, info *T) error {
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(info)
	attr := struct {
		fd, size uint32
		info     uint64
	}{uint32(fd), uint32(unsafe.Sizeof(*info)), uint64(uintptr(unsafe.Pointer(info)))}
	if _, _, errno := unix.Syscall(unix.SYS_BPF, unix.BPF_OBJ_GET_INFO_BY_FD, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr)); errno != 0 {
		return errno
	}
	return nil
}
