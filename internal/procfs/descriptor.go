package procfs

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxDescriptors of a process are tried where they cannot be listed.
const maxDescriptors = 4096

// OpenFile opens path for reading, as [os.Open], but does not wait for the
// writer of a FIFO. A path /proc/PID/fd/N may be of another user's process:
// the directory takes CAP_DAC_READ_SEARCH, while the kernel hands out a copy of
// the descriptor for CAP_SYS_PTRACE.
func OpenFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if !errors.Is(err, os.ErrPermission) {
		return f, err
	}
	var pid, n int
	if _, scanErr := fmt.Sscanf(path, "/proc/%d/fd/%d", &pid, &n); scanErr != nil {
		return nil, err
	}
	pidfd, pidfdErr := unix.PidfdOpen(pid, 0)
	if pidfdErr != nil {
		return nil, err
	}
	defer unix.Close(pidfd)
	fd, getErr := unix.PidfdGetfd(pidfd, n, 0)
	if getErr != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

// descriptor returns which open file of the process the object is, by asking
// for one after the other.
func (o *Object) descriptor() (path string, ok bool) {
	pidfd, err := unix.PidfdOpen(o.pid, 0)
	if err != nil {
		return "", false
	}
	defer unix.Close(pidfd)
	for n := range maxDescriptors {
		fd, err := unix.PidfdGetfd(pidfd, n, 0)
		if errors.Is(err, unix.EBADF) {
			continue
		}
		if err != nil {
			return "", false
		}
		var st unix.Stat_t
		err = unix.Fstat(fd, &st)
		unix.Close(fd)
		if err == nil && st.Ino == o.ID.Inode && st.Dev == o.ID.Dev {
			return o.proc(fmt.Sprintf("fd/%d", n)), true
		}
	}
	return "", false
}
