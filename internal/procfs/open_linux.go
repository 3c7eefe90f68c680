package procfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// errNoProc says that a file cannot be opened through its descriptor.
var errNoProc = errors.New("/proc is not mounted, or shows other processes")

// OpenFile opens the regular file at path for reading. It opens no file of another
// type, whatever takes the file's place meanwhile, because opening a device can have
// effects and opening a FIFO waits. A path /proc/PID/fd/N may belong to another
// user's process: its directory requires CAP_DAC_READ_SEARCH, while the kernel hands
// out a copy of the descriptor for CAP_SYS_PTRACE.
//
// If no /proc shows this process, a device that replaces a regular file between the check and the
// opening is opened, and closed at once.
func OpenFile(path string) (*File, error) {
	return ask(0, path, func() (*File, error) { return openFile(path) }, lateFile)
}

// lateFile closes a file that nobody waits for any more.
func lateFile(f *File) { f.file.Close() }

func openFile(path string) (*File, error) {
	p, err := hold(unix.AT_FDCWD, path, 0)
	if errors.Is(err, os.ErrPermission) {
		if f, ok := copyOf(path); ok {
			return f, nil
		}
	}
	if err != nil {
		return nil, err
	}
	defer p.close()
	f, err := p.open()
	if errors.Is(err, errNoProc) {
		return p.openBy(path)
	}
	return f, err
}

// heldFile is a file that is held and not opened (O_PATH): it stays the same file,
// whatever happens to its names.
type heldFile struct {
	fd   int
	path string // the path by which it was found
	st   unix.Stat_t
}

// hold returns the file to which path leads, relative to dir. A set of
// unix.RESOLVE_… restricts the way there; before Linux 5.6 the error wraps ENOSYS.
func hold(dir int, path string, resolve uint64) (*heldFile, error) {
	return holdFlags(dir, path, 0, resolve)
}

func holdFlags(dir int, path string, flags, resolve uint64) (*heldFile, error) {
	fd, err := retry(func() (int, error) {
		how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC | flags, Resolve: resolve}
		if resolve == 0 {
			return unix.Openat(dir, path, int(how.Flags), 0)
		}
		return unix.Openat2(dir, path, &how)
	})
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	p := &heldFile{fd: fd, path: path}
	if err := unix.Fstat(fd, &p.st); err != nil {
		p.close()
		return nil, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	return p, nil
}

func (p *heldFile) close() { unix.Close(p.fd) }

func (p *heldFile) id() ID { return ID{p.st.Dev, p.st.Ino} }

// open opens the file if it is a regular one. It looks nothing up by a name that
// others could change.
func (p *heldFile) open() (*File, error) {
	return p.openBy(fmt.Sprintf("/proc/self/fd/%d", p.fd))
}

// openBy opens the file by a path that leads to it.
func (p *heldFile) openBy(path string) (*File, error) {
	if err := p.regular(); err != nil {
		return nil, err
	}
	fd, err := retry(func() (int, error) {
		return unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	})
	if path != p.path && (errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR)) {
		return nil, errNoProc
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: p.path, Err: err}
	}
	f := newFile(fd, p.path, p.st.Dev)
	if id, err := idOf(f.file); err != nil || id != p.id() {
		f.file.Close()
		return nil, changed(p.path)
	}
	return f, nil
}

// newFile returns an open file that a file system's device has. It may wait.
func newFile(fd int, path string, device uint64) *File {
	var st unix.Statfs_t
	if err := unix.Fstatfs(fd, &st); err != nil {
		st.Type = 0
	}
	return &File{file: os.NewFile(uintptr(fd), path), device: device, fsType: int64(st.Type), asked: !local[int64(st.Type)]}
}

// regular returns an error unless the file is a regular one.
func (p *heldFile) regular() error {
	what, ok := kinds[p.st.Mode&unix.S_IFMT]
	switch {
	case p.st.Mode&unix.S_IFMT == unix.S_IFREG:
		return nil
	case ok:
		return fmt.Errorf("%s is %s, %w", p.path, what, ErrNotRegular)
	}
	return fmt.Errorf("%s is %w", p.path, ErrNotRegular)
}

// kinds are the types of files other than regular ones, and links, which are
// followed.
var kinds = map[uint32]string{
	unix.S_IFDIR: "a directory", unix.S_IFCHR: "a device", unix.S_IFBLK: "a device", unix.S_IFIFO: "a FIFO", unix.S_IFSOCK: "a socket",
}

// retry calls f until no signal interrupts it, as package os does.
func retry(f func() (int, error)) (int, error) {
	for {
		if n, err := f(); err != unix.EINTR {
			return n, err
		}
	}
}

// Leads reports whether path leads to the file without symbolic links.
func Leads(path string, to os.FileInfo) bool {
	p, err := hold(unix.AT_FDCWD, path, unix.RESOLVE_NO_SYMLINKS)
	if err != nil {
		return false
	}
	defer p.close()
	st, ok := to.Sys().(*syscall.Stat_t)
	return ok && p.id() == ID{st.Dev, st.Ino}
}

// Installed reports whether only root and this user can change the open file, and its
// path is in this mount namespace: no container's file, and none that a stranger
// wrote.
func Installed(f Opened) bool {
	info, err := f.Stat()
	if err != nil {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || st.Uid != 0 && st.Uid != uint32(os.Geteuid()) || st.Mode&0o022 != 0 {
		return false
	}
	path, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
	return err == nil && Leads(path, info)
}
