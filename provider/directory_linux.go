package provider

import (
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// The functions of this file make system calls that name files relative to an open
// directory and follow no symbolic link. Package os only opens files here: its Stat,
// ReadDir and Root lead to the formatting of times and dates, which would weigh more
// than this package (RATIONALE.md).

// stat returns the metadata of an open file.
func stat(f *os.File) (st unix.Stat_t, err error) {
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return st, &fs.PathError{Op: "fstat", Path: f.Name(), Err: err}
	}
	return st, nil
}

// inside returns the path of name in d, for messages. What package path/filepath
// does beyond that would add 8 kB to each service that declares probes.
func inside(d *os.File, name string) string { return d.Name() + "/" + name }

// subdirectory opens the directory called name in d.
func subdirectory(d *os.File, name string) (*os.File, error) {
	return openAt(d, name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
}

// makeDir opens the directory called name in d, and makes it first if it is missing.
func makeDir(d *os.File, name string) (*os.File, error) {
	if err := unix.Mkdirat(int(d.Fd()), name, 0o755); err != nil && err != unix.EEXIST {
		return nil, &fs.PathError{Op: "mkdir", Path: inside(d, name), Err: err}
	}
	return subdirectory(d, name)
}

// removeDir removes the directory called name in d if it is empty.
func removeDir(d *os.File, name string) error {
	return unix.Unlinkat(int(d.Fd()), name, unix.AT_REMOVEDIR)
}

// openAt opens the file called name in d, which must not be a symbolic link.
func openAt(d *os.File, name string, flags int, mode uint32) (*os.File, error) {
	path := inside(d, name)
	fd, err := unix.Openat(int(d.Fd()), name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
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
		_, _, names = unix.ParseDirent(buf[:n], -1, names)
	}
}

// checkOwner returns an error unless only this user and root can change f.
func checkOwner(f *os.File) error {
	st, err := stat(f)
	if err != nil {
		return err
	}
	if uid := os.Geteuid(); st.Uid != uint32(uid) && st.Uid != 0 {
		return fmt.Errorf("%s belongs to user %d, who could change what this process executes; it must belong to user %d or root", f.Name(), st.Uid, uid)
	}
	if st.Mode&0o022 != 0 {
		return fmt.Errorf("%s can be written to by others (mode %#o), who could change what this process executes", f.Name(), st.Mode&0o7777)
	}
	return nil
}
