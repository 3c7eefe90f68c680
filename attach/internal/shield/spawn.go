//go:build amd64 || arm64

package shield

import (
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

const flags = unix.CLONE_VM | unix.CLONE_FILES

// spawn starts the task that makes the call and then ends.
func spawn(trap, a1, a2, a3, a4, a5 uintptr, out *outcome) (pid int, err error) {
	// A signal handler must not run in the task, which has no stack of its own
	// and this thread's goroutine. The task inherits the mask.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var all, old unix.Sigset_t
	for i := range all.Val {
		all.Val[i] = ^all.Val[i]
	}
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &all, &old); err != nil {
		return 0, err
	}
	r := clone(flags, trap, a1, a2, a3, a4, a5, out)
	// It fails only for invalid arguments, and these were valid before.
	_ = unix.PthreadSigmask(unix.SIG_SETMASK, &old, nil)
	if r < 0 {
		return 0, syscall.Errno(-r)
	}
	return int(r), nil
}

// clone makes a task and returns its id, or a negative error. The task leaves
// the process group, so that a signal for the group misses it, makes the call
// and ends. It uses only registers and out, because the stack is its creator's.
//
//go:noescape
func clone(flags, trap, a1, a2, a3, a4, a5 uintptr, out *outcome) int64
