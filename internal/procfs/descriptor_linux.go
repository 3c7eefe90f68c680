package procfs

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// maxDescriptors is the largest number of a process's descriptors that are tried: it
// may have a million.
const maxDescriptors = 4096

// copyOf returns a copy of the descriptor that a path /proc/PID/fd/N names, if that
// is a regular file.
func copyOf(path string) (f *File, ok bool) {
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
	return newFile(fd, path, st.Dev), true
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
		// Descriptors of other files may be on a file system that does not answer, and need not.
		var st unix.Statx_t
		err = unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, unix.STATX_INO, &st)
		unix.Close(fd)
		if err == nil && st.Ino == o.ID.Inode && unix.Mkdev(st.Dev_major, st.Dev_minor) == o.ID.Dev {
			return o.proc(fmt.Sprintf("fd/%d", n)), true
		}
	}
	return "", false
}
