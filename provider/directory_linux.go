package provider

import (
	"bytes"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// The functions of this file make system calls that name files relative to an open
// directory and follow no symbolic link. Package os only opens files here: its Stat,
// ReadDir and Root lead to the formatting of times and dates, which would weigh more
// than this package (RATIONALE.md).

// stat reads the metadata of an open file.
func stat(f *os.File, st *unix.Stat_t) error {
	if err := unix.Fstat(int(f.Fd()), st); err != nil {
		return pathError("fstat", f.Name(), err)
	}
	return nil
}

// inside returns the path of name in d, for messages. What package path/filepath
// does beyond that would add 8 kB to each service that declares probes.
//
//go:noinline
func inside(d *os.File, name string) string { return d.Name() + "/" + name }

// pathError returns an [fs.PathError]. It is not inlined, because each of its calls would
// add 70 bytes to each service that declares probes.
//
//go:noinline
func pathError(op, path string, err error) error {
	return &fs.PathError{Op: op, Path: path, Err: err}
}

// subdirectory opens the directory called name in d.
func subdirectory(d *os.File, name string) (*os.File, error) {
	return openAt(d, name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
}

// makeDir opens the directory called name in d, and makes it first if it is missing.
func makeDir(d *os.File, name string) (*os.File, error) {
	if err := unix.Mkdirat(int(d.Fd()), name, 0o755); err != nil && err != unix.EEXIST {
		return nil, pathError("mkdir", inside(d, name), err)
	}
	return subdirectory(d, name)
}

// removeDir removes the directory called name in d if it is empty.
func removeDir(d *os.File, name string) error {
	return unix.Unlinkat(int(d.Fd()), name, unix.AT_REMOVEDIR)
}

// openAt opens the file called name in d, which must not be a symbolic link.
func openAt(d *os.File, name string, flags int, mode uint32) (*os.File, error) {
	return openPath(int(d.Fd()), name, inside(d, name), flags|unix.O_NOFOLLOW, mode)
}

// openPath opens the file called name in the directory dir. path is for messages.
func openPath(dir int, name, path string, flags int, mode uint32) (*os.File, error) {
	fd, err := unix.Openat(dir, name, flags|unix.O_CLOEXEC, mode)
	for err == unix.EINTR {
		fd, err = unix.Openat(dir, name, flags|unix.O_CLOEXEC, mode)
	}
	if err != nil {
		return nil, pathError("open", path, err)
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
			return pathError("sync", f.Name(), err)
		}
	}
}

// writeFile makes a file that everybody may read.
func writeFile(d *os.File, name, contents string) error {
	f, err := openAt(d, name, unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC, 0o444)
	if err != nil {
		return err
	}
	if _, err := f.WriteString(contents); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// names returns the names of the entries of d, as far as they can be read.
func names(d *os.File) (names []string) {
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
		for b := buf[:n]; len(b) > 19; b = b[min(max(int(order.Uint16(b[16:])), 20), len(b)):] {
			name := b[19:]
			if i := bytes.IndexByte(name, 0); i >= 0 {
				name = name[:i]
			}
			if s := string(name); order.Uint64(b) != 0 && s != "." && s != ".." {
				names = append(names, s)
			}
		}
	}
}

// checkOwner returns an error unless only this user and root can change f.
func checkOwner(f *os.File) error {
	var st unix.Stat_t
	if err := stat(f, &st); err != nil {
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
