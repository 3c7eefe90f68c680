package link

import (
	"errors"
	"fmt"
	"os"

	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach/internal/shield"
)

// Object returns the link as cilium/ebpf has it, with a descriptor of its own.
func (l Link) Object() (link.Link, error) { return Copy(l.fd) }

// Copy returns the link that a descriptor leads to, with another descriptor.
func Copy(of int) (link.Link, error) {
	fd, err := unix.FcntlInt(uintptr(of), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("copy a link: %w", err)
	}
	return link.NewFromFD(fd)
}

// Pin has the kernel keep the link, its program and what the link raises, under a path of a BPF
// file system.
func (l *Link) Pin(path string) error {
	o, err := l.Object()
	if err != nil {
		return err
	}
	defer o.Close()
	if err := o.Pin(path); err != nil {
		return err
	}
	l.Path = path
	return nil
}

// Unpin undoes Pin, if the link is pinned. The link stays as long as it is open.
func (l *Link) Unpin() error {
	if l.Path == "" {
		return nil
	}
	return os.Remove(l.Path)
}

// Pinned opens a link that was pinned. Its Prog is nil.
func Pinned(path string) (l Link, info *link.Info, err error) {
	o, err := link.LoadPinnedLink(path, nil)
	if err != nil {
		return l, nil, err
	}
	defer o.Close()
	raw, ok := o.(interface{ FD() int })
	if !ok {
		return l, nil, fmt.Errorf("%s is a link of another kind", path)
	}
	if l.fd, err = unix.FcntlInt(uintptr(raw.FD()), unix.F_DUPFD_CLOEXEC, 0); err != nil {
		return l, nil, fmt.Errorf("copy a link: %w", err)
	}
	l.event, l.Path = -1, path
	if info, err = o.Info(); err != nil {
		return l, nil, errors.Join(err, shield.Close(l.fd))
	}
	if m := info.UprobeMulti(); m != nil {
		pid, _ := m.Pid()
		l.PID = int(pid)
	}
	return l, info, nil
}
