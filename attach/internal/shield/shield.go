// Package shield makes system calls that the death of this process does not
// interrupt.
//
// When a process gets SIGKILL in the middle of removing a uprobe, Linux (6.18
// and before) gives up: reading the traced program's page fails with EINTR
// (mm/gup.c: __get_user_pages), the breakpoint and the semaphore stay, and so
// does the uprobe, under the address of an inode that may be freed
// (kernel/events/uprobes.c: "failed to unregister, leaking uprobe"). The next
// file whose inode gets that address inherits the old one's decoded
// instruction: programs that are traced through it die of SIGILL.
//
// The kernel removes uprobes in whichever task makes the call. Syscall
// therefore has a short-lived task make it, which shares memory and descriptors
// with this process but is not part of it.
package shield

import (
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// outcome is what the task leaves in the memory that it shares.
type outcome struct {
	result int64 // of the system call, negative an error
	done   int64 // 1 when result is valid
}

// Syscall makes a system call that runs to its end even if this process is
// killed. Where a task cannot be made, it makes the call itself. It may block:
// other goroutines go on.
//
// The call must not be one that concerns the calling task. Memory that it
// refers to beyond the arguments themselves must be pinned.
//
//go:uintptrescapes
func Syscall(trap, a1, a2, a3, a4, a5 uintptr) (uintptr, error) {
	out := new(outcome)
	var pin runtime.Pinner
	pin.Pin(out)
	defer pin.Unpin()
	pid, err := spawn(trap, a1, a2, a3, a4, a5, out)
	if err != nil {
		r, _, errno := syscall.Syscall6(trap, a1, a2, a3, a4, a5, 0)
		return r, errnoError(errno)
	}
	for {
		// The task sends no signal at its end, so hardly anybody else waits for
		// it. If somebody did, it has ended all the same.
		_, err := unix.Wait4(pid, nil, unix.WALL, nil)
		if err == nil || err == unix.ECHILD {
			break
		}
		if err != unix.EINTR {
			return 0, err
		}
	}
	switch {
	case out.done == 0:
		return 0, unix.EINTR // the task was killed
	case out.result < 0 && out.result >= -4095:
		return 0, syscall.Errno(-out.result)
	}
	return uintptr(out.result), nil
}

func errnoError(errno syscall.Errno) error {
	if errno == 0 {
		return nil
	}
	return errno
}

// Close closes a descriptor.
func Close(fd int) error {
	_, err := Syscall(unix.SYS_CLOSE, uintptr(fd), 0, 0, 0, 0)
	return err
}
