package owned

import (
	"bytes"
	"encoding/binary"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// The functions of this file make system calls that name files relative to an open
// directory and follow no symbolic link. Package os only opens files here: its Stat,
// ReadDir and Root lead to the formatting of times and dates, which would weigh more
// than this package (RATIONALE.md).

// Stat reads the metadata of an open file.
func Stat(f *os.File, st *unix.Stat_t) error {
	if err := unix.Fstat(int(f.Fd()), st); err != nil {
		return PathError("fstat", f.Name(), err)
	}
	return nil
}

// Inside returns the path of name in d, for messages. Package path/filepath does more, which
// would add 8 kB to each service that declares probes.
//
//go:noinline
func Inside(d *os.File, name string) string { return d.Name() + "/" + name }

// PathError returns an [fs.PathError]. It is not inlined, because each of its calls would
// add 70 bytes to each service that declares probes.
//
//go:noinline
func PathError(op, path string, err error) error {
	return &fs.PathError{Op: op, Path: path, Err: err}
}

// Sub opens the directory called name in d.
func Sub(d *os.File, name string) (*os.File, error) {
	return OpenAt(d, name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
}

// MakeDir opens the directory called name in d, and makes it first if it is missing.
func MakeDir(d *os.File, name string) (*os.File, error) {
	if err := unix.Mkdirat(int(d.Fd()), name, 0o755); err != nil && err != unix.EEXIST {
		return nil, PathError("mkdir", Inside(d, name), err)
	}
	return Sub(d, name)
}

// RemoveDir removes the directory called name in d if it is empty.
func RemoveDir(d *os.File, name string) error {
	return unix.Unlinkat(int(d.Fd()), name, unix.AT_REMOVEDIR)
}

// OpenAt opens the file called name in d, which must not be a symbolic link.
func OpenAt(d *os.File, name string, flags int, mode uint32) (*os.File, error) {
	return OpenPath(int(d.Fd()), name, Inside(d, name), flags|unix.O_NOFOLLOW, mode)
}

// OpenPath opens the file called name in the directory dir. path is for messages.
func OpenPath(dir int, name, path string, flags int, mode uint32) (*os.File, error) {
	fd, err := unix.Openat(dir, name, flags|unix.O_CLOEXEC, mode)
	for err == unix.EINTR {
		fd, err = unix.Openat(dir, name, flags|unix.O_CLOEXEC, mode)
	}
	if err != nil {
		return nil, PathError("open", path, err)
	}
	return os.NewFile(uintptr(fd), path), nil
}

// flush returns once the contents of a file are on the disk.
func flush(f *os.File) error {
	for {
		switch err := unix.Fsync(int(f.Fd())); err {
		case nil:
			return nil
		case unix.EINTR:
		default:
			return PathError("sync", f.Name(), err)
		}
	}
}

// WriteFile makes a file that everybody may read.
func WriteFile(d *os.File, name, contents string) error {
	f, err := OpenAt(d, name, unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC, 0o444)
	if err != nil {
		return err
	}
	if _, err := f.WriteString(contents); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// Names returns the names of the entries of d, as far as they can be read.
func Names(d *os.File) (names []string) {
	buf := make([]byte, 8<<10)
	for {
		n, err := unix.ReadDirent(int(d.Fd()), buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return names
		}
		// struct linux_dirent64: inode, offset, length of the entry in 16 bits, type, and
		// the name with a NUL behind it.
		for b := buf[:n]; len(b) > 19; b = b[min(max(int(binary.LittleEndian.Uint16(b[16:])), 20), len(b)):] {
			name := b[19:]
			if i := bytes.IndexByte(name, 0); i >= 0 {
				name = name[:i]
			}
			if s := string(name); binary.LittleEndian.Uint64(b) != 0 && s != "." && s != ".." {
				names = append(names, s)
			}
		}
	}
}

// checkOwner returns an error unless only this user and root can change f.
func checkOwner(f *os.File) error {
	var st unix.Stat_t
	if err := Stat(f, &st); err != nil {
		return err
	}
	if uid := os.Geteuid(); st.Uid != uint32(uid) && st.Uid != 0 {
		return errorf("%s belongs to user %d, who could change what this process executes; it must belong to user %d or root", f.Name(), st.Uid, uid)
	}
	if st.Mode&0o022 != 0 {
		return errorf("%s can be written to by others (mode %#o), who could change what this process executes", f.Name(), st.Mode&0o7777)
	}
	return nil
}
