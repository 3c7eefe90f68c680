package link

import (
	"errors"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach/internal/shield"
	"github.com/go-usdt/usdt/internal/procfs"
)

// Link attaches a program to sites until it is closed.
type Link struct {
	File procfs.ID     // as the group had it
	PID  int           // of the process that it is restricted to, 0 for none
	Prog *ebpf.Program // that runs
	Path string        // where it is pinned, empty if it is not

	kernel  bool // the sites are functions of the kernel
	session bool // the program runs at their entries and returns

	fd    int // -1 after Stop
	event int // the link's perf event, -1 without one
}

// Stop closes the link, so that its program no longer runs. It leaves the perf
// event, if there is one, to be closed: the kernel closes them one after the
// other, and takes about 0.1 s for one on a uprobe.
func (l Link) Stop() error {
	if l.event < 0 && !l.kernel {
		return shield.Close(l.fd)
	}
	return unix.Close(l.fd) // which a killed process does as well: a program is left alone
}

// Rest returns what [Link.Stop] leaves to be closed, and false if there is
// nothing.
func (l Link) Rest() (Link, bool) { return Link{fd: -1, event: l.event}, l.event >= 0 }

// Close closes the link, unless it was stopped, and the perf event.
func (l Link) Close() error {
	var err error
	if l.fd >= 0 {
		err = l.Stop()
	}
	if l.event >= 0 {
		err = errors.Join(err, shield.Close(l.event))
	}
	return err
}

// Stranded reports whether the first thread of the process of a uprobe_multi link
// is gone, as far as the kernel says so (6.8).
func (l Link) Stranded() bool {
	count, pid, err := infoOf(l.fd)
	return err == nil && count > 0 && pid == 0
}
