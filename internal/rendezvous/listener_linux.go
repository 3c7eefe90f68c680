package rendezvous

import (
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/ring"
	"github.com/go-usdt/usdt/internal/sys"
)

// Code that serves tracers adds to the size of every service: it makes system calls itself, in
// one goroutine for all connections, and its refusals are constant texts.

// Handler is what offers the probes. Only one goroutine at a time calls its methods.
type Handler interface {
	// Watch makes a probe record to a ring from now on. It returns a Refusal, which
	// is a number here because the texts of errors also add to the size.
	Watch(w *ring.Writer, s *Site) (refusal uint32)
	// Forget ends that, for a site's number.
	Forget(w *ring.Writer, number uint32)
	// End ends it for all sites of the ring.
	End(w *ring.Writer)
}

// Limits on what tracers may ask for.
const (
	maxConnections = 64
	maxRings       = 16
	helloTime      = 2 * time.Second
	// acceptDelay is the time between two tries to accept a connection while the
	// process has no free descriptors.
	acceptDelay = 100 * time.Millisecond
)

// Listener offers the probes of this process.
type Listener struct {
	handler Handler
	comm    string
	secret  [secretSize]byte
	socket  int
	file    int // of the socket; -1 if it has none
	offer   *os.File
	ended   chan struct{}
	closing atomic.Bool

	mu       sys.Mutex // of what follows, between serve and the methods
	peers    []peer
	released bool // whether the descriptors are closed
}

// peer is a connection.
type peer struct {
	socket int
	ring   *ring.Writer // nil before the greeting
	until  uint64       // by ring.Now, the time that the tracer has for the greeting
}

// Listen lets tracers find this process. comm is its name; dirs are the directories in
// which a socket's file may be made.
func Listen(h Handler, comm string, dirs []string) (*Listener, error) {
	l := &Listener{handler: h, comm: comm, ended: make(chan struct{})}
	if err := sys.Random(l.secret[:]); err != nil {
		return nil, err
	}
	err := permitted()
	if err != nil {
		return nil, err
	}
	var name string
	if l.socket, l.file, name, err = bind(dirs); err != nil {
		return nil, err
	}
	if err = sys.Failed("listen", unix.Listen(l.socket, maxConnections)); err == nil {
		o := offer{version: Version, socket: int32(l.file), secret: l.secret, name: name}
		l.offer, err = sys.Memfd(offerName, o.encode())
	}
	if err != nil {
		l.release()
		return nil, err
	}
	go l.serve()
	return l, nil
}

// Close ends all sessions and withdraws the offer. No handler must be waiting for the
// caller. Where a filter of system calls has come into force meanwhile that refuses to
// interrupt serve, Close only hides the offer.
func (l *Listener) Close() error {
	l.closing.Store(true)
	l.offer.Close() // before a tracer can see anything else end
	l.mu.Lock()
	var err error
	if !l.released {
		err = unix.Shutdown(l.socket, unix.SHUT_RDWR) // which serve sees
	}
	l.mu.Unlock()
	if err != nil {
		return sys.Failed("shutdown", err)
	}
	<-l.ended
	return nil
}

func (l *Listener) release() {
	l.mu.Lock()
	l.released = true
	l.mu.Unlock()
	unix.Close(l.socket)
	if l.offer != nil {
		l.offer.Close()
	}
	if l.file >= 0 {
		unix.Close(l.file)
	}
}

// Loaded tells the tracers that there may be probes that were not there before. It reports
// whether there is anybody who serves them.
func (l *Listener) Loaded() bool {
	l.mu.Lock()
	for _, p := range l.peers {
		if p.ring != nil {
			// A tracer that does not read has such a message waiting.
			sys.Send(p.socket, []byte{msgLoaded, 0, 0, 0}, nil)
		}
	}
	serves := !l.released
	l.mu.Unlock()
	return serves
}

// serve serves all connections, until Close, or until the process may not wait for them any
// more.
func (l *Listener) serve() {
	buf := make([]byte, maxMessage+1)
	var fds []unix.PollFd
	full := false // the process has no free descriptors
	for {
		fds = append(fds[:0], unix.PollFd{Fd: int32(l.socket), Events: unix.POLLIN})
		timeout := -1
		if full {
			fds[0].Events, timeout = 0, int(acceptDelay.Milliseconds())
		}
		for _, p := range l.peers {
			fds = append(fds, unix.PollFd{Fd: int32(p.socket), Events: unix.POLLIN})
			if p.ring == nil {
				timeout = int(acceptDelay.Milliseconds())
			}
		}
		_, err := unix.Poll(fds, timeout)
		if l.closing.Load() {
			break
		}
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			break
		}
		if fds[0].Revents&(unix.POLLHUP|unix.POLLERR|unix.POLLNVAL) != 0 {
			break
		}
		// From the last one on, since peers that end are removed.
		for i := len(l.peers) - 1; i >= 0; i-- {
			p := &l.peers[i]
			if fds[1+i].Revents != 0 && !l.hear(p, buf) || p.ring == nil && ring.Now() > p.until {
				l.drop(i)
			}
		}
		full = fds[0].Revents != 0 && !l.accept()
	}
	l.offer.Close()
	for len(l.peers) > 0 {
		l.drop(len(l.peers) - 1)
	}
	l.release()
	close(l.ended)
}

// accept accepts a connection. It returns false if it has to be tried again later: there is
// no descriptor, or the process may not accept any more.
func (l *Listener) accept() bool {
	fd, err := sys.Accept(l.socket)
	if err != nil {
		return err == unix.EAGAIN || err == unix.EINTR || err == unix.ECONNABORTED
	}
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	switch {
	case err != nil:
	// The secret decides; this keeps others from trying.
	case cred.Uid != 0 && int(cred.Uid) != os.Geteuid() && cred.Uid != unmapped:
		refuse(fd, "the tracer is another user's")
	case len(l.peers) == maxConnections:
		refuse(fd, crowded)
	default:
		l.mu.Lock()
		l.peers = append(l.peers, peer{socket: fd, until: ring.Now() + uint64(helloTime)})
		l.mu.Unlock()
		return true
	}
	unix.Close(fd)
	return true
}

// unmapped is the id that a process sees for users that its user namespace does not
// have (fs.overflowuid).
const unmapped = 65534

const crowded = "the process has as many tracers as it admits"

// refuse says why a connection is closed.
func refuse(socket int, why string) {
	sys.Send(socket, append([]byte{msgRefused, 0, 0, 0}, why...), nil)
}

// drop ends a connection.
func (l *Listener) drop(i int) {
	p := l.peers[i]
	if p.ring != nil {
		l.handler.End(p.ring)
		p.ring.Close()
	}
	l.mu.Lock()
	last := len(l.peers) - 1
	l.peers[i] = l.peers[last]
	l.peers = l.peers[:last]
	l.mu.Unlock()
	unix.Close(p.socket)
}

// hear does what a message asks for. It returns false when the connection is to end.
func (l *Listener) hear(p *peer, buf []byte) bool {
	n, err := sys.Receive(p.socket, buf)
	if err == unix.EAGAIN || err == unix.EINTR {
		return true
	}
	if n <= 0 || err != nil {
		return false
	}
	why := "a message is too long"
	if n <= maxMessage {
		if p.ring == nil {
			why = l.greet(p, buf[:n])
		} else {
			var answer []byte
			if answer, why = l.answer(p.ring, buf[:n]); why == "" {
				// A tracer that does not read answers has no use for more.
				return sys.Send(p.socket, answer, nil) == nil
			}
		}
	}
	if why != "" {
		refuse(p.socket, why)
	}
	return why == ""
}

// greet answers a tracer's first message. It returns why the tracer is refused.
func (l *Listener) greet(p *peer, message []byte) (why string) {
	var h hello
	rings := 0
	for _, other := range l.peers {
		if other.ring != nil {
			rings++
		}
	}
	switch {
	case !h.decode(message):
		return "the first message is no greeting"
	case h.secret != l.secret:
		return "the tracer does not know the secret of this process: it may have taken another process's socket for this one's"
	case h.version != Version:
		return "the process speaks another version of the protocol"
	case rings == maxRings:
		return crowded
	}
	w, err := ring.NewWriter(ring.GeometryFor(int(h.size), runtime.GOMAXPROCS(0)), ring.ClockHere(), l.comm)
	if err != nil {
		return err.Error()
	}
	welcome := order.AppendUint32([]byte{msgWelcome, 0, 0, 0, Version, 0, 0, 0}, uint32(os.Getpid()))
	if err := sys.Send(p.socket, welcome, &w.Files); err != nil {
		w.Close()
		return err.Error()
	}
	l.mu.Lock()
	p.ring = w
	l.mu.Unlock()
	return ""
}

// answer does what a message asks for, and returns the answer, or what is wrong.
func (l *Listener) answer(w *ring.Writer, message []byte) (answer []byte, why string) {
	const wrong = "a message cannot be understood"
	if len(message) < 8 {
		return nil, wrong
	}
	kind, n, body := order.Uint32(message), order.Uint32(message[4:]), message[8:]
	switch kind {
	case msgWatch:
		answer = []byte{msgArmed, 0, 0, 0}
		settled := w.Populated()
		for range n {
			var s Site
			if body = decodeSite(&s, body); body == nil {
				return nil, wrong
			}
			refusal := uint32(NotSettled)
			if settled {
				refusal = l.handler.Watch(w, &s)
			}
			answer = order.AppendUint32(answer, refusal)
		}
		return answer, ""
	case msgForget:
		for ; n > 0 && len(body) >= 4; n-- {
			l.handler.Forget(w, order.Uint32(body))
			body = body[4:]
		}
	case msgStop:
		l.handler.End(w)
		w.Stop()
	default:
		return nil, wrong
	}
	return []byte{msgDone, 0, 0, 0}, ""
}
