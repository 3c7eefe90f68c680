package procfs

import (
	"errors"
	"fmt"
	"iter"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// deleted is what the kernel appends to the path of a file without a name.
const deleted = " (deleted)"

// IDOf returns the id of an open file.
func IDOf(f *File) (ID, error) { return idOf(f) }

func idOf(f interface {
	Name() string
	Stat() (os.FileInfo, error)
}) (ID, error) {
	info, err := f.Stat()
	if err != nil {
		return ID{}, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ID{}, fmt.Errorf("%s: %w", f.Name(), errors.ErrUnsupported)
	}
	return ID{Dev: st.Dev, Inode: st.Ino}, nil
}

// Objects returns the files that maps, process pid's, name with execute
// permission, by address.
func Objects(pid int, maps []Mapping) []*Object {
	exec := map[ID]bool{}
	for i := range maps {
		if m := &maps[i]; m.Exec && m.Inode != 0 {
			exec[ID{m.Dev, m.Inode}] = true
		}
	}
	byID := make(map[ID]*Object, len(exec))
	var out []*Object
	for i := range maps {
		m := &maps[i]
		id := ID{m.Dev, m.Inode}
		if m.Inode == 0 || !exec[id] {
			continue
		}
		o := byID[id]
		if o == nil {
			o = &Object{ID: id, Path: strings.TrimSuffix(m.Path, deleted), raw: m.Path, pid: pid}
			byID[id] = o
			out = append(out, o)
		}
		o.Maps = append(o.Maps, *m)
	}
	return out
}

// Open opens the object by the first path that leads to it, and returns that
// path: the object's own if this process sees the same file there, or one under
// /proc/PID.
func (o *Object) Open() (*File, string, error) {
	var why error
	for path := range o.candidates() {
		f, err := ask(o.ID.Dev, o.Path, func() (*File, error) { return o.try(path) }, lateFile)
		if err == nil {
			if path.name == o.raw || path.name == o.proc("root")+o.raw {
				o.Path = o.raw
			}
			return f, path.name, nil
		}
		if errors.Is(err, ErrSilent) {
			return nil, "", fmt.Errorf("%s, mapped by process %d, cannot be opened: %w", o.Path, o.pid, ErrSilent)
		}
		if why == nil || errors.Is(err, os.ErrPermission) {
			why = err
		}
	}
	if err := o.Gone(); err != nil {
		return nil, "", err
	}
	return nil, "", fmt.Errorf("%s, mapped by process %d, cannot be opened: %w", o.Path, o.pid, why)
}

// Gone returns why the process no longer has the object, an error that wraps
// os.ErrNotExist. It returns nil if the process has it, or may have it. A process
// that is about to end has a directory in /proc, but no root, no descriptors and no
// memory.
func (o *Object) Gone() error {
	maps, err := Maps(o.pid)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return err
	case err != nil:
		return nil
	case len(maps) == 0:
		return Empty(o.pid)
	}
	for i := range maps {
		if m := &maps[i]; m.Inode == o.ID.Inode && m.Dev == o.ID.Dev {
			return nil
		}
	}
	return fmt.Errorf("%s %w by process %d: %w", o.Path, ErrUnmapped, o.pid, os.ErrNotExist)
}

// candidate is a path that may lead to the object.
type candidate struct {
	name string
	// like is a file that must be the same one if the devices of maps and stat do not
	// show that; empty for none.
	like string
	// link reports that the path may lead to any file, on any file system.
	link bool
	// rooted reports that the path is below the process's root.
	rooted bool
	// copied reports that only a copy of the descriptor can be had.
	copied bool
}

// candidates yields paths, the best first: paths that stay valid when the process ends, then
// paths that stay valid when it unmaps the object, and last its open files, where a memfd is
// found without the privilege that map_files requires.
func (o *Object) candidates() iter.Seq[candidate] {
	return func(yield func(candidate) bool) {
		if strings.HasPrefix(o.raw, "/") {
			// If " (deleted)" is there, it may still be the file's own name.
			root := o.proc("root") + o.raw
			if !yield(candidate{name: o.raw, like: root}) || !yield(candidate{name: root, rooted: true}) {
				return
			}
		}
		if !yield(candidate{name: o.proc("exe"), link: true}) {
			return
		}
		for i := range o.Maps[:min(len(o.Maps), 4)] {
			m := &o.Maps[i]
			// fs/proc/base.c: map_files names are lower-case hexadecimal.
			if !yield(candidate{name: o.proc(fmt.Sprintf("map_files/%x-%x", m.Start, m.End))}) {
				return
			}
		}
		fds, err := o.descriptors()
		if errors.Is(err, os.ErrPermission) {
			if path, ok := o.descriptor(); ok {
				yield(candidate{name: path, link: true, copied: true})
			}
			return
		}
		for _, fd := range fds {
			if !yield(candidate{name: o.proc("fd/" + fd), link: true}) {
				return
			}
		}
	}
}

// descriptors lists the process's open files.
func (o *Object) descriptors() ([]string, error) {
	d, err := os.Open(o.proc("fd"))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.Readdirnames(maxDescriptors)
}

func (o *Object) proc(name string) string { return fmt.Sprintf("/proc/%d/%s", o.pid, name) }

// try opens the candidate if it is the object, and opens nothing else.
func (o *Object) try(c candidate) (*File, error) {
	if c.copied {
		f, ok := copyOf(c.name)
		if !ok {
			return nil, changed(c.name)
		}
		if id, err := idOf(f.file); err != nil || id != o.ID {
			f.file.Close()
			return nil, changed(c.name)
		}
		return f, nil
	}
	p, err := o.hold(c)
	if err != nil {
		return nil, err
	}
	defer p.close()
	device := c.link
	if c.like != "" {
		// For a process with a root of its own within this file system, maps have the
		// paths that this process sees (fs/d_path.c, d_path).
		like, err := hold(unix.AT_FDCWD, c.like, 0)
		if err == nil {
			like.close()
		}
		device = err != nil || like.id() != p.id()
	}
	if !o.is(p, device) {
		return nil, changed(c.name)
	}
	return p.open()
}

// hold returns the file at the candidate's path. The kernel prints paths without
// symbolic links. A link that is there now would lead elsewhere: out of the process's
// root into this one's, or to another user's file.
func (o *Object) hold(c candidate) (*heldFile, error) {
	dir, path, resolve := unix.AT_FDCWD, c.name, uint64(0)
	switch {
	case c.rooted:
		root, err := hold(unix.AT_FDCWD, o.proc("root"), 0)
		if err != nil {
			return nil, err
		}
		defer root.close()
		dir, path, resolve = root.fd, o.raw, unix.RESOLVE_IN_ROOT|unix.RESOLVE_NO_SYMLINKS
	case c.name == o.raw:
		resolve = unix.RESOLVE_NO_SYMLINKS
	}
	p, err := hold(dir, path, resolve)
	if errors.Is(err, unix.ENOSYS) {
		p, err = hold(unix.AT_FDCWD, c.name, 0)
	}
	if err == nil {
		p.path = c.name
	}
	return p, err
}

func changed(path string) error {
	return fmt.Errorf("%s is another file now: %w", path, os.ErrNotExist)
}

// is reports whether p is the mapped file. It compares the device only where nothing
// else ties the path to the object, because on btrfs and some overlays maps and stat
// give different ones.
func (o *Object) is(p *heldFile, device bool) bool {
	return p.st.Mode&unix.S_IFMT == unix.S_IFREG && p.st.Ino == o.ID.Inode && (!device || p.st.Dev == o.ID.Dev)
}

// maxDescriptors is the largest number of a process's descriptors that are tried: it
// may have a million.
const maxDescriptors = 4096

// copyOf returns a copy of the descriptor that a path /proc/PID/fd/N names, if that
// is a regular file.
func copyOf(path string) (f *File, ok bool) {
	var pid, n int
	if _, err := fmt.Sscanf(path, "/proc/%d/fd/%d", &pid, &n); err != nil {
		return nil, false
	}
	pidfd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil, false
	}
	defer unix.Close(pidfd)
	fd, err := unix.PidfdGetfd(pidfd, n, 0)
	if err != nil {
		return nil, false
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		unix.Close(fd)
		return nil, false
	}
	return newFile(fd, path, st.Dev), true
}

// descriptor returns the path of the process's open file that is the object. It tries
// one descriptor after the other.
func (o *Object) descriptor() (path string, ok bool) {
	pidfd, err := unix.PidfdOpen(o.pid, 0)
	if err != nil {
		return "", false
	}
	defer unix.Close(pidfd)
	for n := range maxDescriptors {
		fd, err := unix.PidfdGetfd(pidfd, n, 0)
		if errors.Is(err, unix.EBADF) {
			continue
		}
		if err != nil {
			return "", false
		}
		// Descriptors of other files may be on a file system that does not answer, and need not.
		var st unix.Statx_t
		err = unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, unix.STATX_INO, &st)
		unix.Close(fd)
		if err == nil && st.Ino == o.ID.Inode && unix.Mkdev(st.Dev_major, st.Dev_minor) == o.ID.Dev {
			return o.proc(fmt.Sprintf("fd/%d", n)), true
		}
	}
	return "", false
}
