package rendezvous

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/ring"
)

// ErrNotOffered says that a process does not offer its probes to tracers without
// privileges: it declares none, or not with Options.Local or USDT_LOCAL=1.
var ErrNotOffered = errors.New("the process does not offer its probes through shared memory: a Go service that declares its probes by package provider would have to run with USDT_LOCAL=1")

// RefusedError is a process's reason not to let this one trace it.
type RefusedError struct {
	PID    int
	Reason string // what the process said; printable only after escaping
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("process %d refuses: %q", e.PID, e.Reason)
}

// Options change a session; the zero value is the default.
type Options struct {
	// Size is about the number of bytes of the ring; 0 means defaultSize.
	Size int
	// Now is the clock of records, in nanoseconds; nil means CLOCK_MONOTONIC.
	Now func() uint64
}

const defaultSize = 4 << 20

// Session is a tracer's connection to a process. Its methods may be called by any
// goroutine, except the methods of Ring.
type Session struct {
	// Ring has the records.
	Ring *ring.Reader
	// Loaded gets a value when the process has published probes since the last one.
	Loaded <-chan struct{}
	// Gone is closed when the process has ended the session: it exited, executed
	// another program, or closed its providers. Counts are final then.
	Gone <-chan struct{}

	pid             int
	socket          *socket
	calls           sync.Mutex    // one question at a time
	asked, answered atomic.Uint64 // numbers of messages
	answer          chan answer   // holds the last one
	gone            chan struct{}
	why             error // after gone
	once            sync.Once
}

// answer is a message to the question of a number. One that nobody waits for any more is
// not the answer to the next question.
type answer struct {
	to      uint64
	message []byte
}

// Connect begins a session with a process. It takes answerTime at most, and busyTime for
// a process that has no processor to answer on. The error is
// ErrNotOffered, wraps fs.ErrPermission or fs.ErrNotExist as that of [Offered], or is
// a [*RefusedError].
func Connect(ctx context.Context, pid int, opts *Options) (*Session, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Size <= 0 {
		o.Size = defaultSize
	}
	dir, err := processDir(pid)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	offered, err := find(dir)
	if err != nil {
		return nil, err
	}
	if offered.version != Version {
		return nil, fmt.Errorf("process %d offers its probes by version %d of the protocol, and this program speaks version %d", pid, offered.version, Version)
	}
	c, err := dial(pid, dir, offered)
	if err != nil {
		return nil, unlessWithdrawn(dir, offered, err)
	}
	stop := context.AfterFunc(ctx, func() { c.close() })
	s, err := greet(pid, c, offered, &o)
	if !stop() && err == nil {
		err = context.Cause(ctx)
		s.Close()
	}
	if err != nil {
		c.close()
		return nil, unlessWithdrawn(dir, offered, err)
	}
	return s, nil
}

// unlessWithdrawn returns why an offer could not be taken: ErrNotOffered if the process has
// withdrawn it meanwhile, whether or not it has made another one.
func unlessWithdrawn(dir *os.File, o *offer, err error) error {
	if now, again := find(dir); errors.Is(again, ErrNotOffered) || again == nil && now.secret != o.secret {
		return ErrNotOffered
	}
	return err
}

// dial connects to the socket of an offer and checks who listens.
func dial(pid int, dir *os.File, o *offer) (*socket, error) {
	name := o.name
	if o.socket >= 0 {
		// The kernel follows this link by the check of man 2 ptrace.
		name = fmt.Sprintf("/proc/self/fd/%d/fd/%d", dir.Fd(), o.socket)
	}
	if name == "" {
		return nil, errors.New("the process's offer names no socket")
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	tv := unix.NsecToTimeval(answerTime.Nanoseconds())
	unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &tv)
	for {
		if err = unix.Connect(fd, &unix.SockaddrUnix{Name: name}); err != unix.EINTR {
			break
		}
	}
	if err != nil {
		unix.Close(fd)
		if o.socket < 0 && err == unix.ECONNREFUSED {
			return nil, fmt.Errorf("process %d listens in another network namespace: it found no directory for the socket's file, such as /dev/shm, that it may write to", pid)
		}
		return nil, fmt.Errorf("connect to process %d: %w", pid, err)
	}
	c, err := newSocket(fd)
	if err != nil {
		return nil, err
	}
	peer, err := c.peer()
	if err == nil && int(peer.Pid) != pid {
		// A process may hold a descriptor of another one's socket.
		err = fmt.Errorf("process %d shows a socket at which process %d listens", pid, peer.Pid)
	}
	if err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func greet(pid int, c *socket, o *offer, opts *Options) (*Session, error) {
	wait := newPatience(pid)
	c.deadline(wait.more())
	h := hello{version: Version, secret: o.secret, size: uint32(min(opts.Size, ring.MaxTotal))}
	// A process that has closed the connection has said why.
	if err := c.send(h.append(nil)); err != nil && !errors.Is(err, unix.EPIPE) && !errors.Is(err, unix.ECONNRESET) {
		return nil, fmt.Errorf("greet process %d: %w", pid, err)
	}
	buf := make([]byte, maxMessage)
	message, files, err := c.receive(buf)
	if errors.Is(err, unix.ECONNRESET) {
		// The process has closed the connection without reading what was sent; what it
		// said before follows.
		message, files, err = c.receive(buf)
	}
	for errors.Is(err, os.ErrDeadlineExceeded) {
		more := wait.more()
		if more == 0 {
			break
		}
		c.deadline(more)
		message, files, err = c.receive(buf)
	}
	defer closeAll(files)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, fmt.Errorf("process %d does not answer within %v: it may be stopped, or have no free descriptors", pid, wait.waited())
	case err == io.EOF:
		return nil, fmt.Errorf("process %d has closed the connection without an answer", pid)
	case err != nil:
		return nil, fmt.Errorf("greet process %d: %w", pid, err)
	case len(message) < 4:
		return nil, fmt.Errorf("process %d answers with %d bytes", pid, len(message))
	case order.Uint32(message) == msgRefused:
		return nil, &RefusedError{pid, string(message[4:])}
	case order.Uint32(message) != msgWelcome || len(message) < 12 || len(files) != 2:
		return nil, fmt.Errorf("process %d answers a greeting with message %d and %d files", pid, order.Uint32(message), len(files))
	}
	reader, err := ring.NewReader(files[0], files[1], pid, opts.Size, opts.Now)
	if err != nil {
		return nil, fmt.Errorf("process %d: %w", pid, err)
	}
	c.deadline(0)
	loaded := make(chan struct{}, 1)
	s := &Session{Ring: reader, Loaded: loaded, pid: pid, socket: c, answer: make(chan answer, 1), gone: make(chan struct{})}
	s.Gone = s.gone
	go s.listen(buf, loaded)
	return s, nil
}

// listen receives messages until the connection ends.
func (s *Session) listen(buf []byte, loaded chan<- struct{}) {
	defer close(s.gone)
	for {
		message, files, err := s.socket.receive(buf)
		closeAll(files)
		switch {
		case err != nil || len(message) < 4:
			s.why = err
			return
		case order.Uint32(message) == msgLoaded:
			select {
			case loaded <- struct{}{}:
			default:
			}
		case order.Uint32(message) == msgRefused:
			s.why = &RefusedError{s.pid, string(message[4:])}
			return
		default:
			number := s.answered.Add(1)
			if number > s.asked.Load() {
				return // nobody has asked
			}
			select {
			case <-s.answer: // came too late
			default:
			}
			s.answer <- answer{number, append([]byte(nil), message...)}
		}
	}
}

// ask sends a message and returns the answer's body.
func (s *Session) ask(message []byte, want uint32) ([]byte, error) {
	s.calls.Lock()
	defer s.calls.Unlock()
	if s.answered.Load() < s.asked.Load() {
		return nil, s.silent(answerTime) // and has not since the last question
	}
	wait := newPatience(s.pid)
	silent := time.After(wait.more())
	s.socket.file.SetWriteDeadline(time.Now().Add(answerTime))
	number := s.asked.Add(1)
	if err := s.socket.send(message); err != nil {
		s.asked.Store(number - 1)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return nil, s.silent(answerTime)
		}
		return nil, s.end()
	}
	for {
		select {
		case a := <-s.answer:
			switch {
			case a.to != number:
			case order.Uint32(a.message) == want:
				return a.message[4:], nil
			default:
				return nil, fmt.Errorf("process %d gives answer %d, want %d", s.pid, order.Uint32(a.message), want)
			}
		case <-s.gone:
			return nil, s.end()
		case <-silent:
			more := wait.more()
			if more == 0 {
				return nil, s.silent(wait.waited())
			}
			silent = time.After(more)
		}
	}
}

func (s *Session) silent(waited time.Duration) error {
	return fmt.Errorf("process %d does not answer within %v: it may be stopped", s.pid, waited)
}

func (s *Session) end() error {
	select {
	case <-s.gone:
		if refused := (*RefusedError)(nil); errors.As(s.why, &refused) {
			return refused
		}
	default:
	}
	return fmt.Errorf("process %d has ended the session: %w", s.pid, os.ErrProcessDone)
}

// Watch makes the process record at sites. refused has an entry for each site: nil for
// those at which it records from now on, and a [Refusal] for others. The error says why
// nothing is known of the sites: the process may be gone.
func (s *Session) Watch(sites []Site) (refused []error, err error) {
	for len(sites) > 0 {
		message := make([]byte, 8, maxMessage)
		n := 0
		for n < len(sites) {
			longer := appendSite(message, &sites[n])
			if len(longer) > maxMessage {
				if n == 0 {
					return refused, errors.New("a site does not fit into a message")
				}
				break
			}
			message, n = longer, n+1
		}
		order.PutUint32(message, msgWatch)
		order.PutUint32(message[4:], uint32(n))
		answer, err := s.ask(message, msgArmed)
		if err != nil {
			return refused, err
		}
		if len(answer) != 4*n {
			return refused, fmt.Errorf("process %d answers for %d sites, want %d", s.pid, len(answer)/4, n)
		}
		for i := range n {
			var r error
			if code := Refusal(order.Uint32(answer[4*i:])); code != Armed {
				r = code
			}
			refused = append(refused, r)
		}
		sites = sites[n:]
	}
	return refused, nil
}

// Forget makes the process record at these sites no more. Their numbers may be used
// again, for records that are written from now on.
func (s *Session) Forget(numbers []uint32) error {
	for len(numbers) > 0 {
		n := min(len(numbers), (maxMessage-8)/4)
		message := order.AppendUint32(order.AppendUint32(nil, msgForget), uint32(n))
		for _, number := range numbers[:n] {
			message = order.AppendUint32(message, number)
		}
		if _, err := s.ask(message, msgDone); err != nil {
			return err
		}
		numbers = numbers[n:]
	}
	return nil
}

// Stop makes the process record nothing more. Afterwards, also after an error, what is
// in the ring can be read to its end, and counts are final.
func (s *Session) Stop() error {
	_, err := s.ask(order.AppendUint32(order.AppendUint32(nil, msgStop), 0), msgDone)
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// HangUp ends the connection, for callers that wait for an answer. The ring can be read until
// Close.
func (s *Session) HangUp() { s.socket.close() }

// Close ends the session and unmaps the ring, which nobody must read any more.
func (s *Session) Close() (err error) {
	s.once.Do(func() {
		if err = s.socket.close(); errors.Is(err, os.ErrClosed) {
			err = nil // by HangUp
		}
		<-s.gone
		err = errors.Join(err, s.Ring.Close())
	})
	return err
}

// PID returns the process's number.
func (s *Session) PID() int { return s.pid }
