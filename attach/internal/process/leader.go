package process

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// leader notices when the first thread of a process is gone, which perf-event
// links do not report. It is a perf event that never fires. It has a ring, since
// without one poll reports the end at once (kernel/events/core.c, perf_poll). A
// process with other perf events pays nothing for one more.
type leader struct {
	event int
	ring  []byte
}

// WatchLeaders calls WatchLeader for all processes, from now on.
func (p *Set) WatchLeaders() {
	p.leaders = map[int]*leader{}
	for _, pid := range p.PIDs {
		p.WatchLeader(pid)
	}
}

// WatchLeader starts again with the current first thread, if leaders are watched,
// and reports whether there is one: when a process ends, its first thread is gone
// before the process is. If there is none, WatchLeader changes nothing.
func (p *Set) WatchLeader(pid int) bool {
	if p.leaders == nil {
		return false
	}
	attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_DUMMY, Size: uint32(binary.Size(unix.PerfEventAttr{}))}
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

// LeaderGone reports whether the thread that was the first of a process at the
// last WatchLeader is gone.
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
