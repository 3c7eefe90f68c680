package gate

import (
	"crypto/rand"
	"fmt"
	"net"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/await"
)

// Providers is where providers report that they have new probes.
type Providers struct{ l *net.UnixListener }

// Listen makes a socket of a new name.
func Listen() (*Providers, error) {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: "@usdt-" + rand.Text(), Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listen for providers: %w", err)
	}
	return &Providers{l}, nil
}

// Environment returns the environment variable that leads providers here.
func (l *Providers) Environment() string { return await.Variable + "=" + l.l.Addr().String() }

// Serve calls attach for each waiting provider of a process that waits selects and then answers
// the provider, until the listener is closed. It calls missed if the provider
// stopped waiting before. Other processes, whoever they belong to, are answered
// at once, without an attach.
func (l *Providers) Serve(waits func(pid int) bool, attach func(), missed func(took time.Duration)) {
	for {
		c, err := l.l.AcceptUnix()
		if err != nil {
			return
		}
		if waits(peer(c)) {
			start := time.Now()
			attach()
			if _, err := c.Write([]byte{'a'}); err != nil {
				missed(time.Since(start))
			}
		}
		c.Close()
	}
}

// peer returns the id of the process that has connected, in this process's PID
// namespace; 0 if it has none there.
func peer(c *net.UnixConn) (pid int) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0
	}
	raw.Control(func(fd uintptr) {
		if cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			pid = int(cred.Pid)
		}
	})
	return pid
}

// Close ends Serve.
func (l *Providers) Close() error { return l.l.Close() }
