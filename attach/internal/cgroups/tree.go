package cgroups

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// tree follows the groups of a hierarchy.
type tree struct {
	root  string
	found func(group string, id uint64) error // a group, by its path from the root; mu is locked, as for:
	lost  func(group string)                  // it is gone
	file  *os.File                            // inotify
	ended chan struct{}

	addWatch func(fd int, dir string, mask uint32) (int, error) // unix.InotifyAddWatch, except in tests

	mu      sync.Mutex
	paths   map[int32]string // watched directories, from the root
	watches map[string]int32 // of these
	err     error            // of what nobody waited for
	partial bool             // a directory is not watched: what is made there has to be looked for
}

// open finds the groups that there are, and begins to wait for others.
func (t *tree) open(root string) error {
	t.root, t.ended, t.paths, t.watches = root, make(chan struct{}), map[int32]string{}, map[string]int32{}
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		return watchError(err)
	}
	if t.addWatch == nil {
		t.addWatch = unix.InotifyAddWatch
	}
	t.file = os.NewFile(uintptr(fd), "inotify")
	t.mu.Lock()
	err = t.add("/")
	t.mu.Unlock()
	if err != nil {
		t.file.Close()
		return err
	}
	go t.follow()
	return nil
}

// close ends the watch.
func (t *tree) close() {
	t.file.Close()
	<-t.ended
}

// refresh has seen, when it returns, all groups that were made before. mu is locked.
func (t *tree) refresh() error {
	err := t.err
	t.err = nil
	conn, failed := t.file.SyscallConn()
	if failed != nil {
		return failed
	}
	if failed := conn.Control(func(fd uintptr) { err = errors.Join(err, t.drain(int(fd))) }); failed != nil {
		return failed
	}
	if t.partial {
		t.partial = false
		err = t.add("/") // what failed before fails again, or does not matter any more
	}
	return err
}

// watchError says which limit a watch exceeds.
func watchError(err error) error {
	switch {
	case errors.Is(err, unix.ENOSPC):
		err = fmt.Errorf("%w: raise the sysctl fs.inotify.max_user_watches", err)
	case errors.Is(err, unix.EMFILE):
		err = fmt.Errorf("%w: raise the sysctl fs.inotify.max_user_instances, or the limit of open files (ulimit -n)", err)
	}
	return fmt.Errorf("watch control groups: %w", err)
}

// follow handles what the kernel reports.
func (t *tree) follow() {
	defer close(t.ended)
	conn, err := t.file.SyscallConn()
	if err != nil {
		return
	}
	// Read returns when the file is closed.
	_ = conn.Read(func(fd uintptr) bool {
		t.mu.Lock()
		defer t.mu.Unlock()
		if err := t.drain(int(fd)); err != nil {
			t.err = err
		}
		return false
	})
}

// drain handles all that has been reported.
func (t *tree) drain(fd int) (err error) {
	buf := make([]byte, 16<<10)
	for {
		n, failed := unix.Read(fd, buf)
		switch {
		case failed == unix.EINTR:
			continue
		case failed == unix.EAGAIN || n <= 0:
			return err
		case failed != nil:
			return errors.Join(err, fmt.Errorf("watch control groups: %w", failed))
		}
		// struct inotify_event, see inotify(7)
		for b := buf[:n]; len(b) >= unix.SizeofInotifyEvent; {
			wd, mask, size := int32(binary.NativeEndian.Uint32(b)), binary.NativeEndian.Uint32(b[4:]), binary.NativeEndian.Uint32(b[12:])
			name := b[unix.SizeofInotifyEvent:min(len(b), unix.SizeofInotifyEvent+int(size))]
			b = b[min(len(b), unix.SizeofInotifyEvent+int(size)):]
			err = errors.Join(err, t.reported(wd, mask, unix.ByteSliceToString(name)))
		}
	}
}

// reported handles one report.
func (t *tree) reported(wd int32, mask uint32, name string) error {
	switch {
	case mask&unix.IN_Q_OVERFLOW != 0:
		return t.add("/")
	case mask&unix.IN_IGNORED != 0: // the directory is gone
		if group, ok := t.paths[wd]; ok && t.watches[group] == wd {
			t.drop(group)
		}
		delete(t.paths, wd)
	case mask&unix.IN_ISDIR != 0 && mask&unix.IN_DELETE != 0:
		if parent, ok := t.paths[wd]; ok {
			return t.gone(path.Join(parent, name))
		}
	case mask&unix.IN_ISDIR != 0 && mask&unix.IN_CREATE != 0:
		if parent, ok := t.paths[wd]; ok {
			return t.add(path.Join(parent, name))
		}
	}
	return nil
}

// add watches a group and those below it, and reports them. A directory that is gone, or none, is
// left out. One that cannot be watched is reported all the same.
func (t *tree) add(group string) (failed error) {
	dir := filepath.Join(t.root, group)
	switch wd, err := t.watch(dir); {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return nil
	case err != nil:
		t.partial, failed = true, watchError(err)
	default:
		t.paths[wd], t.watches[group] = group, wd
	}
	if info, err := os.Stat(dir); err == nil { // else it is gone
		if err := t.found(group, info.Sys().(*syscall.Stat_t).Ino); err != nil {
			return err
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return failed // it is gone
	}
	for _, e := range entries {
		if e.IsDir() {
			err := t.add(path.Join(group, e.Name()))
			failed = cmp.Or(failed, err)
		}
	}
	return failed
}

func (t *tree) watch(dir string) (wd int32, err error) {
	conn, err := t.file.SyscallConn()
	if err != nil {
		return 0, err
	}
	var n int
	if failed := conn.Control(func(fd uintptr) {
		n, err = t.addWatch(int(fd), dir, unix.IN_CREATE|unix.IN_DELETE|unix.IN_ONLYDIR)
	}); failed != nil {
		return 0, failed
	}
	return int32(n), err
}

// gone ends the watch of a group that is gone, which some kernels keep. A new group of that name
// may have been made since.
func (t *tree) gone(group string) error {
	if wd, ok := t.watches[group]; ok {
		conn, err := t.file.SyscallConn()
		if err != nil {
			return err
		}
		// It may have ended by itself.
		_ = conn.Control(func(fd uintptr) { _, _ = unix.InotifyRmWatch(int(fd), uint32(wd)) })
		delete(t.paths, wd)
	}
	t.drop(group)
	return t.add(group)
}

// drop reports a group that is gone.
func (t *tree) drop(group string) {
	delete(t.watches, group)
	t.lost(group)
}
