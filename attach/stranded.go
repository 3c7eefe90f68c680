package attach

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A link that is restricted to a process is, for the kernel, one to its first
// thread. When another thread executes a program that one is gone for good, and
// the thread that takes its place and its PID is nothing to the link, which is
// left over: stranded.

// leaveStranded detaches from processes whose links are stranded, so that what
// they have is found anew. Links that many processes share are for all.
func (t *tracing) leaveStranded() error {
	if t.sharing != nil {
		return nil
	}
	var all []owner
	for pid, d := range t.attached.oldest() {
		stranded := t.kind == MultiLink && d.stranded() ||
			t.kind == PerfLink && t.procs.leaderGone(pid) && t.procs.watchLeader(pid)
		if stranded && !t.procs.ended(pid) {
			all = append(all, t.attached.ownersOf(pid)...)
			t.discover.forget(pid)
		}
	}
	if len(all) == 0 {
		return nil
	}
	t.numbers.take(all)
	return t.attached.retire(all)
}

// oldest returns the first of the links to each process: where it is not
// stranded, those made later are not.
func (a *Attachment) oldest() map[int]detacher {
	a.mu.Lock()
	defer a.mu.Unlock()
	first := map[int]detacher{}
	for _, d := range a.detachers {
		if d.pid == 0 {
			continue
		}
		if _, ok := first[d.pid]; !ok {
			first[d.pid] = d
		}
	}
	return first
}

// forget has the sites of a process found again.
func (d *discovery) forget(pid int) {
	for key := range d.seen {
		if key.pid == pid {
			delete(d.seen, key)
		}
	}
	delete(d.mapped, pid)
	delete(d.files, pid)
	d.expected = nil
}

// stranded reports whether the first thread of the process of a uprobe_multi link
// is gone, where the kernel tells (6.8).
func (d detacher) stranded() bool {
	// The part of struct bpf_link_info (include/uapi/linux/bpf.h) that is filled
	// for them.
	type linkInfo struct {
		typ, id, prog, _                      uint32
		path, offsets, refCtrOffsets, cookies uint64
		pathSize, count, flags, pid           uint32
	}
	info := new(linkInfo)
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(info)
	attr := struct {
		fd, size uint32
		info     uint64
	}{uint32(d.link), uint32(unsafe.Sizeof(*info)), uint64(uintptr(unsafe.Pointer(info)))}
	_, _, errno := unix.Syscall(unix.SYS_BPF, unix.BPF_OBJ_GET_INFO_BY_FD, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
	return errno == 0 && info.count > 0 && info.pid == 0
}
