package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/procfs"
)

// Set is the processes that a search and its results are restricted to.
// Descriptors hold them from before anything of them is read: later another
// process may have a PID, and must not be traced. Data read from /proc/PID, and
// attachments to a PID, were the process's if it has not ended afterwards.
type Set struct {
	PIDs []int // none for all processes
	held map[int]*os.File

	leaders map[int]*leader // nil if they are not watched
}

// Hold opens the processes.
func Hold(pids []int) (*Set, error) {
	p := &Set{PIDs: pids, held: make(map[int]*os.File, len(pids))}
	for _, pid := range pids {
		f, err := pidfdOf(pid)
		if err != nil {
			p.Close()
			return nil, err
		}
		p.held[pid] = f
	}
	return p, nil
}

func pidfdOf(pid int) (*os.File, error) {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	switch {
	case errors.Is(err, unix.ESRCH):
		return nil, procfs.Error(pid, err)
	case err != nil:
		return nil, fmt.Errorf("hold process %d: %w", pid, err)
	}
	return os.NewFile(uintptr(fd), "pidfd"), nil
}

// Add adds a process. A set to which processes are added, or in which some are dropped,
// is for one goroutine.
func (p *Set) Add(pid int) error {
	f, err := pidfdOf(pid)
	if err != nil {
		return err
	}
	if p.held == nil {
		p.held = map[int]*os.File{}
	}
	p.PIDs, p.held[pid] = append(p.PIDs, pid), f
	return nil
}

// Has reports whether the set has a process.
func (p *Set) Has(pid int) bool { return p.held[pid] != nil }

// DropEnded drops the processes that have ended, and returns their PIDs.
func (p *Set) DropEnded() (ended []int) {
	p.PIDs = slices.DeleteFunc(p.PIDs, func(pid int) bool {
		if !p.Ended(pid) {
			return false
		}
		p.held[pid].Close()
		delete(p.held, pid)
		ended = append(ended, pid)
		return true
	})
	return ended
}

// Close releases the processes.
func (p *Set) Close() {
	for _, f := range p.held {
		f.Close()
	}
	for _, l := range p.leaders {
		l.Close()
	}
	p.leaders = nil
}

// Ended reports whether the process has ended, so that its PID may be another's.
func (p *Set) Ended(pid int) bool {
	conn, err := p.held[pid].SyscallConn()
	if err != nil {
		return true
	}
	ended := true
	conn.Control(func(fd uintptr) { ended = readable(fd) })
	return ended
}

// readable reports whether a pidfd is readable: its process has ended.
func readable(pidfd uintptr) bool {
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, 0)
		if err != unix.EINTR {
			return n > 0 || err != nil
		}
	}
}

// Wait returns when the process has ended or ctx is done. One call at a time may
// wait for a process.
func (p *Set) Wait(ctx context.Context, pid int) error {
	f := p.held[pid]
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	// A pidfd is readable when the process has ended, which lets the runtime's
	// poller wait for it.
	f.SetReadDeadline(time.Time{}) // that of an earlier call
	stop := context.AfterFunc(ctx, func() { f.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	err = conn.Read(readable)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return ctx.Err()
	}
	return err
}
