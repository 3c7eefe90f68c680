package output

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/printable"
)

// errUnread is the error of a pipe that nobody reads when sdttrace has to end.
var errUnread = errors.New("nobody reads the pipe, so that the rest is left out")

// pipe is a pipe whose reader may stop reading. A write waits for the reader, but not after sdttrace
// was asked to end.
type pipe struct {
	shared *os.File         // as other programs get it
	own    *os.File         // another description of the pipe, so that only its writes have deadlines
	asked  func() time.Time // when sdttrace was asked to end; zero before

	mu     sync.Mutex // of what follows
	unread bool
}

// pipeStep is how often a write looks whether sdttrace was asked to end. It still waits for pipeGrace
// after that, and for so many steps after the reader took something: a step counts once if this process
// stands still meanwhile, however long.
const (
	pipeStep  = 50 * time.Millisecond
	pipeGrace = 500 * time.Millisecond
	pipeSteps = 6
)

// Ending returns a writer to a file that was inherited. If that is a pipe, a write gives up when nobody
// reads it after asked returns a time.
func Ending(file *os.File, asked func() time.Time) io.Writer {
	info, err := file.Stat()
	if err != nil || info.Mode().Type() != os.ModeNamedPipe {
		return file
	}
	// O_NONBLOCK belongs to the description that other programs share, so this process has its own.
	own, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", file.Fd()), os.O_WRONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return file // such as a pipe of another user
	}
	if err := own.SetWriteDeadline(time.Now().Add(pipeStep)); err != nil {
		own.Close()
		return file
	}
	return &pipe{shared: file, own: own, asked: asked}
}

// Inherited returns what another program that sdttrace starts gets as a writer of messages: the file
// that sdttrace inherited.
func Inherited(w io.Writer) io.Writer {
	w = printable.Behind(w)
	if p, ok := w.(*pipe); ok {
		return p.shared
	}
	return w
}

func (p *pipe) Write(b []byte) (n int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.unread {
		return 0, errUnread
	}
	for steps := 0; ; steps++ {
		m, err := p.own.Write(b[n:])
		n += m
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
		if m > 0 {
			steps = 0
		}
		now := time.Now()
		if asked := p.asked(); !asked.IsZero() && now.Sub(asked) >= pipeGrace && steps >= pipeSteps {
			p.unread = true
			return n, errUnread
		}
		p.own.SetWriteDeadline(now.Add(pipeStep))
	}
}
