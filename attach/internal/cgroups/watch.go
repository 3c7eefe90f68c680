package cgroups

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/container"
)

// Most is how many selected groups there can be at a time.
const Most = 1 << 16

// Watch keeps the ids of the selected groups in a map. Programs also look for the groups above
// that of a process, so that groups below a selected one count.
type Watch struct {
	Map *ebpf.Map // of ids; the values mean nothing

	selector container.Selector
	names    container.Names
	root     string
	file     *os.File // inotify
	ended    chan struct{}

	mu      sync.Mutex
	paths   map[int32]string  // watched directories, from the root
	watches map[string]int32  // of these
	chosen  map[string]uint64 // selected ones
	unsure  map[string]bool   // whose names may come later
	err     error             // of what nobody waited for
}

// Open finds the groups that there are, and begins to wait for others.
func Open(selector container.Selector, names container.Names) (_ *Watch, err error) {
	if err := selector.Check(); err != nil {
		return nil, err
	}
	w := &Watch{selector: selector, names: names, ended: make(chan struct{}), paths: map[int32]string{}, watches: map[string]int32{}, chosen: map[string]uint64{}, unsure: map[string]bool{}}
	roots, err := Roots()
	if err != nil {
		return nil, err
	}
	w.root = roots[0]
	for _, root := range roots {
		if below, ok := strings.CutPrefix(w.selector.Glob, root+"/"); ok {
			w.root, w.selector.Glob = root, below
			break
		}
	}
	if w.Map, err = ebpf.NewMap(&ebpf.MapSpec{Name: "usdt_cgroups", Type: ebpf.Hash, KeySize: 8, ValueSize: 1, MaxEntries: Most, Flags: unix.BPF_F_NO_PREALLOC}); err != nil {
		return nil, fmt.Errorf("create the map of control groups: %w", err)
	}
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		w.Map.Close()
		return nil, fmt.Errorf("watch control groups: %w", err)
	}
	w.file = os.NewFile(uintptr(fd), "inotify")
	if err := w.add("/"); err != nil {
		w.file.Close()
		w.Map.Close()
		return nil, err
	}
	go w.follow()
	return w, nil
}

// Refresh has seen, when it returns, all groups that were made before, and looks again for names.
func (w *Watch) Refresh() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	err := w.err
	w.err = nil
	conn, failed := w.file.SyscallConn()
	if failed != nil {
		return failed
	}
	if failed := conn.Control(func(fd uintptr) { err = errors.Join(err, w.drain(int(fd))) }); failed != nil {
		return failed
	}
	for group := range w.unsure {
		err = errors.Join(err, w.decide(group))
	}
	return err
}

// Close ends the watch, and closes the map.
func (w *Watch) Close() {
	w.file.Close()
	<-w.ended
	w.Map.Close()
}

// follow handles what the kernel reports.
func (w *Watch) follow() {
	defer close(w.ended)
	conn, err := w.file.SyscallConn()
	if err != nil {
		return
	}
	// Read returns when the file is closed.
	_ = conn.Read(func(fd uintptr) bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		if err := w.drain(int(fd)); err != nil {
			w.err = err
		}
		return false
	})
}

// drain handles all that has been reported.
func (w *Watch) drain(fd int) (err error) {
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
			err = errors.Join(err, w.reported(wd, mask, string(name[:clen(name)])))
		}
	}
}

// clen returns the length of a text that ends in a NUL.
func clen(b []byte) int {
	for i, c := range b {
		if c == 0 {
			return i
		}
	}
	return len(b)
}

// reported handles one report.
func (w *Watch) reported(wd int32, mask uint32, name string) error {
	switch {
	case mask&unix.IN_Q_OVERFLOW != 0:
		return w.add("/")
	case mask&unix.IN_IGNORED != 0: // the directory is gone
		if group, ok := w.paths[wd]; ok && w.watches[group] == wd {
			w.drop(group)
		}
		delete(w.paths, wd)
	case mask&unix.IN_ISDIR != 0 && mask&unix.IN_DELETE != 0:
		if parent, ok := w.paths[wd]; ok {
			return w.gone(path.Join(parent, name))
		}
	case mask&unix.IN_ISDIR != 0 && mask&unix.IN_CREATE != 0:
		if parent, ok := w.paths[wd]; ok {
			return w.add(path.Join(parent, name))
		}
	}
	return nil
}

// add watches a group and those below it, and decides whether they are selected. A directory that
// is gone, or none, is left out.
func (w *Watch) add(group string) error {
	dir := filepath.Join(w.root, group)
	wd, err := w.watch(dir)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("watch control groups: %w", err)
	}
	w.paths[wd], w.watches[group] = group, wd
	if err := w.decide(group); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // it is gone
	}
	for _, e := range entries {
		if e.IsDir() {
			if err := w.add(path.Join(group, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *Watch) watch(dir string) (wd int32, err error) {
	conn, err := w.file.SyscallConn()
	if err != nil {
		return 0, err
	}
	var n int
	if failed := conn.Control(func(fd uintptr) {
		n, err = unix.InotifyAddWatch(int(fd), dir, unix.IN_CREATE|unix.IN_DELETE|unix.IN_ONLYDIR)
	}); failed != nil {
		return 0, failed
	}
	return int32(n), err
}

// decide adds a group to the map if it is selected.
func (w *Watch) decide(group string) error {
	match, unsure := w.selector.Match(group, w.names)
	delete(w.unsure, group)
	switch {
	case !match && unsure:
		w.unsure[group] = true
		return nil
	case !match:
		return nil
	}
	info, err := os.Stat(filepath.Join(w.root, group))
	if err != nil {
		return nil // it is gone
	}
	id := info.Sys().(*syscall.Stat_t).Ino
	w.chosen[group] = id
	if err := w.Map.Put(id, uint8(1)); err != nil {
		return fmt.Errorf("select control group %s: %w", group, err)
	}
	return nil
}

// gone ends the watch of a group that is gone, which some kernels keep. A new group of that name
// may have been made since.
func (w *Watch) gone(group string) error {
	if wd, ok := w.watches[group]; ok {
		conn, err := w.file.SyscallConn()
		if err != nil {
			return err
		}
		// It may have ended by itself.
		_ = conn.Control(func(fd uintptr) { _, _ = unix.InotifyRmWatch(int(fd), uint32(wd)) })
		delete(w.paths, wd)
		w.drop(group)
	}
	return w.add(group)
}

// drop removes a group that is gone.
func (w *Watch) drop(group string) {
	delete(w.watches, group)
	delete(w.unsure, group)
	if id, ok := w.chosen[group]; ok {
		delete(w.chosen, group)
		_ = w.Map.Delete(id) // no process is in it
	}
}
