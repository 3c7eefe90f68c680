package await

import (
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// unmapped is the id that a process sees for users that its user namespace does not
// have (fs.overflowuid).
const unmapped = 65534

// Tracer informs the tracer at address of new probes, and returns once the tracer has
// attached to them or declines to. It takes at most bound, and one descriptor
// meanwhile. The error is not nil if the tracer has not
// answered; EPERM is for a listener that is another user's. Nobody reads it, and texts weigh
// in every service.
func Tracer(address string, bound time.Duration) error {
	begun := time.Now()
	if !strings.HasPrefix(address, "@") && !strings.HasPrefix(address, "/") {
		return unix.EINVAL
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	// A tracer that accepts no connections makes connect wait like a send
	// (net/unix/af_unix.c, unix_stream_connect).
	if err := within(fd, unix.SO_SNDTIMEO, bound); err != nil {
		return err
	}
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: address}); err != nil {
		return err
	}
	peer, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return err
	}
	// Any user may listen at an address that a tracer has left.
	if peer.Uid != 0 && int(peer.Uid) != os.Geteuid() && peer.Uid != unmapped {
		return unix.EPERM
	}
	for {
		if err := within(fd, unix.SO_RCVTIMEO, bound-time.Since(begun)); err != nil {
			return err
		}
		var answer [1]byte
		switch _, err := unix.Read(fd, answer[:]); err {
		case nil: // an answer, or the end of the connection: the tracer has no time for this process
			return nil
		case unix.EINTR:
		default:
			return err
		}
	}
}

// within makes the socket's operations time out once the time left is over.
func within(fd, option int, left time.Duration) error {
	if left <= 0 {
		return os.ErrDeadlineExceeded
	}
	tv := unix.NsecToTimeval(max(left, time.Microsecond).Nanoseconds())
	return unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, option, &tv)
}
