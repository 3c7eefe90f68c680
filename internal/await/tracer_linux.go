package await

import (
	"fmt"
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
// meanwhile. The error says why the tracer has not answered.
func Tracer(address string, bound time.Duration) error {
	begun := time.Now()
	if !strings.HasPrefix(address, "@") && !strings.HasPrefix(address, "/") {
		return errorf("%s is %q, want @NAME or a path", Variable, address)
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return errorf("connect to the tracer: %w", err)
	}
	defer unix.Close(fd)
	// A tracer that accepts no connections makes connect wait like a send
	// (net/unix/af_unix.c, unix_stream_connect).
	if err := within(fd, unix.SO_SNDTIMEO, bound); err != nil {
		return err
	}
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: address}); err != nil {
		return errorf("connect to the tracer at %s: %w", address, err)
	}
	peer, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return errorf("ask who listens at %s: %w", address, err)
	}
	// Any user may listen at an address that a tracer has left.
	if peer.Uid != 0 && int(peer.Uid) != os.Geteuid() && peer.Uid != unmapped {
		return errorf("user %d listens at %s, who is not waited for", peer.Uid, address)
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
			return errorf("wait for the tracer at %s: %w", address, err)
		}
	}
}

// errorf is fmt.Errorf. Inlining that into each of its callers would add half a kB to
// each service that declares probes.
//
//go:noinline
func errorf(format string, args ...any) error { return fmt.Errorf(format, args...) }

// within makes the socket's operations time out once the time left is over.
func within(fd, option int, left time.Duration) error {
	if left <= 0 {
		return errorf("wait for the tracer: %w", os.ErrDeadlineExceeded)
	}
	tv := unix.NsecToTimeval(max(left, time.Microsecond).Nanoseconds())
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, option, &tv); err != nil {
		return errorf("bound the wait for the tracer: %w", err)
	}
	return nil
}
