package sys

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// The functions of this file do what package unix does, without addresses and kinds of
// control messages, which would weigh more than all else that a service needs of
// sockets. None of them waits.

// Accept accepts a connection, closed on exec.
func Accept(listening int) (fd int, err error) {
	n, _, errno := unix.Syscall6(unix.SYS_ACCEPT4, uintptr(listening), 0, 0, unix.SOCK_CLOEXEC, 0, 0)
	return result(n, errno)
}

// Receive receives a message and returns its length, which is more than len(p) if the
// rest was dropped. Descriptors that came with it are closed.
func Receive(fd int, p []byte) (n int, err error) {
	r, _, errno := unix.Syscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), unix.MSG_TRUNC|unix.MSG_DONTWAIT, 0, 0)
	return result(r, errno)
}

// Send sends a message, with two descriptors unless files is nil.
func Send(fd int, p []byte, files *[2]int32) error {
	vec := unix.Iovec{Base: unsafe.SliceData(p)}
	vec.SetLen(len(p))
	msg := unix.Msghdr{Iov: &vec, Iovlen: 1}
	control := struct {
		unix.Cmsghdr
		files [2]int32
	}{Cmsghdr: unix.Cmsghdr{Level: unix.SOL_SOCKET, Type: unix.SCM_RIGHTS}}
	if files != nil {
		control.files = *files
		control.SetLen(int(unsafe.Sizeof(control)))
		msg.Control, msg.Controllen = (*byte)(unsafe.Pointer(&control)), control.Len
	}
	_, _, errno := unix.Syscall(unix.SYS_SENDMSG, uintptr(fd), uintptr(unsafe.Pointer(&msg)), unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT)
	_, err := result(0, errno)
	return err
}

// Random fills p with random bytes.
func Random(p []byte) error {
	_, _, errno := unix.Syscall(unix.SYS_GETRANDOM, uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), 0)
	_, err := result(0, errno)
	return err
}

func result(n uintptr, errno unix.Errno) (int, error) {
	if errno != 0 {
		return -1, errno
	}
	return int(n), nil
}
