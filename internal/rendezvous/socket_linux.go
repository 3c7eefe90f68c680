package rendezvous

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// socket is a tracer's end of a SOCK_SEQPACKET connection, which keeps messages apart.
type socket struct {
	file *os.File
	raw  syscall.RawConn
}

// newSocket takes fd over.
func newSocket(fd int) (*socket, error) {
	unix.SetNonblock(fd, true) // so that the runtime's poller waits
	s := &socket{file: os.NewFile(uintptr(fd), "usdt")}
	raw, err := s.file.SyscallConn()
	if err != nil {
		s.file.Close()
		return nil, err
	}
	s.raw = raw
	return s, nil
}

func (s *socket) deadline(in time.Duration) {
	var at time.Time
	if in > 0 {
		at = time.Now().Add(in)
	}
	s.file.SetDeadline(at)
}

// send sends a message. It waits while the other side does not read.
func (s *socket) send(message []byte) error {
	var err error
	e := s.raw.Write(func(fd uintptr) bool {
		err = unix.Sendmsg(int(fd), message, nil, nil, unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT)
		return err != unix.EAGAIN
	})
	return errors.Join(e, err)
}

// receive returns the next message, in buf, and up to two files that came with it.
// The error is io.EOF when the other side has closed the connection.
func (s *socket) receive(buf []byte) (message []byte, files []*os.File, err error) {
	rights := make([]byte, unix.CmsgSpace(2*4))
	var n, oobn, flags int
	e := s.raw.Read(func(fd uintptr) bool {
		n, oobn, flags, _, err = unix.Recvmsg(int(fd), buf, rights, unix.MSG_CMSG_CLOEXEC|unix.MSG_DONTWAIT)
		return err != unix.EAGAIN
	})
	if e != nil {
		return nil, nil, e
	}
	files = received(rights[:max(oobn, 0)])
	switch {
	case err == nil && n == 0:
		err = io.EOF
	case err == nil && flags&unix.MSG_TRUNC != 0:
		err = fmt.Errorf("a message of more than %d bytes", len(buf))
	case err == nil && flags&unix.MSG_CTRUNC != 0:
		err = errors.New("descriptors that came with a message are lost: the limit of open files may be reached")
	}
	if err != nil {
		closeAll(files)
		return nil, nil, err
	}
	return buf[:n], files, nil
}

func received(oob []byte) (files []*os.File) {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil
	}
	for i := range messages {
		fds, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			continue
		}
		for _, fd := range fds {
			files = append(files, os.NewFile(uintptr(fd), "received"))
		}
	}
	return files
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// peer returns who has connected or, of a tracer's end, who listens.
func (s *socket) peer() (cred *unix.Ucred, err error) {
	e := s.raw.Control(func(fd uintptr) { cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	return cred, errors.Join(e, err)
}

func (s *socket) close() error { return s.file.Close() }
