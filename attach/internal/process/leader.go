package process

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// leader notices when the first thread of a process is gone, as links that are perf
// events do not: it is an event that never happens and has a ring for it, since
// without one poll reports the end at once (kernel/events/core.c, perf_poll). A
// process that other perf events are for pays nothing for one more.
type leader struct {
	event int
	ring  []byte
}

// WatchLeaders has LeaderGone know of all processes.
func (p *Set) WatchLeaders() {
	p.leaders = map[int]*leader{}
	for _, pid := range p.PIDs {
		p.WatchLeader(pid)
	}
}

// WatchLeader begins anew with the thread that is the first by now, if leaders
// are watched, and reports whether there is one: of a process that is ending, the
// first thread is gone before the process has ended. Without one it changes nothing.
func (p *Set) WatchLeader(pid int) bool {
	if p.leaders == nil {
		return false
	}
	attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_DUMMY, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{}))}
	event, err := unix.PerfEventOpen(&attr, pid, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return false
	}
	ring, err := unix.Mmap(event, 0, 2*unix.Getpagesize(), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		unix.Close(event)
		return false
	}
	p.leaders[pid].Close()
	p.leaders[pid] = &leader{event, ring}
	return true
}

// LeaderGone reports whether the thread is gone that was the first of a process
// when WatchLeader was called.
func (p *Set) LeaderGone(pid int) bool {
	l := p.leaders[pid]
	if l == nil {
		return false
	}
	fds := []unix.PollFd{{Fd: int32(l.event)}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n > 0 && fds[0].Revents&unix.POLLHUP != 0
}

func (l *leader) Close() {
	if l == nil {
		return
	}
	unix.Munmap(l.ring)
	unix.Close(l.event)
}
