package procfs

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// maxDescriptors is the largest number of a process's descriptors that are tried: it
// may have a million.
const maxDescriptors = 4096

// copyOf returns a copy of the descriptor that a path /proc/PID/fd/N names, if
// it is of a regular file.
func copyOf(path string) (f *os.File, ok bool) {
	var pid, n int
	if _, err := fmt.Sscanf(path, "/proc/%d/fd/%d", &pid, &n); err != nil {
		return nil, false
	}
	pidfd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil, false
	}
	defer unix.Close(pidfd)
	fd, err := unix.PidfdGetfd(pidfd, n, 0)
	if err != nil {
		return nil, false
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		unix.Close(fd)
		return nil, false
	}
	return os.NewFile(uintptr(fd), path), true
}

// descriptor returns the path of the process's open file that is the object. It tries
// one descriptor after the other.
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
