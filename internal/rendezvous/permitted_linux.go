package rendezvous

import (
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/sys"
)

// calls are the system calls that a process makes for tracers, except the calls that every Go
// program makes and the calls that make the offer.
var calls = [...]struct {
	name   string
	number uintptr
}{
	{"ppoll", unix.SYS_PPOLL}, {"accept4", unix.SYS_ACCEPT4}, {"getsockopt", unix.SYS_GETSOCKOPT}, {"recvfrom", unix.SYS_RECVFROM},
	{"sendmsg", unix.SYS_SENDMSG}, {"shutdown", unix.SYS_SHUTDOWN}, {"ftruncate", unix.SYS_FTRUNCATE}, {"fstat", unix.SYS_FSTAT},
	{"fcntl", unix.SYS_FCNTL}, {"prlimit64", unix.SYS_PRLIMIT64}, {"clock_gettime", unix.SYS_CLOCK_GETTIME},
}

// permitted returns an error if a filter of system calls (man 2 seccomp) refuses one that a
// process makes for tracers. Found out only then, that would leave a tracer without an
// answer, or the offer without an end.
func permitted() error {
	for i := range calls {
		// None of them does anything with a descriptor, process, clock or number of -1.
		_, _, errno := unix.Syscall6(calls[i].number, ^uintptr(0), ^uintptr(0), 0, 0, 0, 0)
		if errno != unix.EBADF && errno != unix.EINVAL && errno != unix.EFAULT && errno != unix.ESRCH {
			return sys.Failed(calls[i].name, errno)
		}
	}
	return nil
}
