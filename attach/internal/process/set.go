package process

import (
	"context"
	"errors"
	"fmt"
	"os"
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
		fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
		if errors.Is(err, unix.ESRCH) {
			err = procfs.Error(pid, err)
		} else if err != nil {
			err = fmt.Errorf("hold process %d: %w", pid, err)
		}
		if err != nil {
			p.Close()
			return nil, err
		}
		p.held[pid] = os.NewFile(uintptr(fd), "pidfd")
	}
	return p, nil
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
