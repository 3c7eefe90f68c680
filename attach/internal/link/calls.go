package link

import (
	"fmt"
	"unsafe"

	"github.com/cilium/ebpf"
)

// Calls are the system calls by which groups are attached. Tests put their own in the
// kernel's place. The descriptors are closed by [Link].
type Calls interface {
	// LinkMulti makes a uprobe_multi link for the group's sites with those indices.
	LinkMulti(g *Group, sites []int) (fd int, err error)
	// OpenUprobe opens a perf event on a uprobe at a site.
	OpenUprobe(g *Group, s *Site) (fd int, err error)
	// LinkEvent links the group's program to a perf event.
	LinkEvent(g *Group, event int, cookie uint64) (fd int, err error)
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
