package owned

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/sys"
)

// errNoDir says that there is no default for Options.Dir.
var errNoDir = errors.New("no directory for objects: XDG_RUNTIME_DIR is not set; set Options.Dir or USDT_DIR")

// Store returns the file called name in dir, with exactly the contents want. The file
// is there already, put there by a process with the same probes, or store makes it.
// The file and its directory belong to this user or root, and nobody else can write
// to either, so that the contents stay.
func Store(dir, name string, want []byte) (*os.File, error) {
	d, err := openDir(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	f, err := openStored(d, name, want)
	if !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	if err := create(d, name, want); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return openStored(d, name, want)
}

// openDir opens the directory of objects.
func openDir(dir string) (*os.File, error) {
	if dir == "" {
		var err error
		if dir, err = defaultDir(); err != nil {
			return nil, err
		}
	}
	return Open(dir, 0o755)
}

// Open opens a directory that only this user and root can write to, and makes it
// first, with a mode, if it is missing.
func Open(dir string, mode uint32) (*os.File, error) {
	if err := unix.Mkdir(dir, mode); err != nil && err != unix.EEXIST {
		return nil, PathError("mkdir", dir, err)
	}
	f, err := OpenPath(unix.AT_FDCWD, dir, dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) {
		return nil, errorf("%w (a symbolic link is not followed)", err)
	} else if err != nil {
		return nil, err
	}
	if err := checkOwner(f); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func defaultDir() (string, error) {
	if dir := os.Getenv("XDG_RUNTIME_DIR"); dir != "" && !sys.Privileged() {
		return dir + "/usdt", nil
	}
	switch {
	case os.Geteuid() != 0:
		return "", errNoDir
	case noexec("/run"):
		// Debian and Ubuntu mount /run so (initramfs-tools: init).
		return "/var/cache/usdt", nil
	}
	return "/run/usdt", nil
}

// noexec reports whether nothing below path can be mapped executable.
func noexec(path string) bool {
	var fs unix.Statfs_t
	return unix.Statfs(path, &fs) == nil && fs.Flags&unix.ST_NOEXEC != 0
}

// openStored opens a file of d and compares it with want.
func openStored(d *os.File, name string, want []byte) (*os.File, error) {
	// A planted FIFO would hang the process if O_NONBLOCK were missing.
	f, err := OpenAt(d, name, unix.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if err := compare(f, want); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func compare(f *os.File, want []byte) error {
	var st unix.Stat_t
	if err := Stat(f, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return errorf("%s is not a regular file; remove it", f.Name())
	}
	if err := checkOwner(f); err != nil {
		return err
	}
	other := errorf("%s does not hold this provider's object; remove it", f.Name())
	if st.Size != int64(len(want)) {
		return other
	}
	buf := make([]byte, 64<<10)
	for rest := want; len(rest) > 0; {
		n, err := unix.Read(int(f.Fd()), buf[:min(len(buf), len(rest))])
		switch {
		case err == unix.EINTR:
			continue
		case err == nil && n == 0:
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return errorf("read %s: %w", f.Name(), err)
		}
		if !bytes.Equal(buf[:n], rest[:n]) {
			return other
		}
		rest = rest[n:]
	}
	return nil
}

// create makes a file in d in one step: nobody ever sees a part of it. The error
// wraps fs.ErrExist if another process was faster.
func create(d *os.File, name string, contents []byte) error {
	temp := fmt.Sprintf(".%s.%d.%x", name, os.Getpid(), rand.Uint64())
	f, err := OpenAt(d, temp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(contents)
	if err == nil {
		err = unix.Fchmod(int(f.Fd()), 0o444)
	}
	if err == nil {
		// A crash of the machine before flush could leave the name without its contents.
		err = flush(f)
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = unix.Renameat2(int(d.Fd()), temp, int(d.Fd()), name, unix.RENAME_NOREPLACE)
		if err == nil {
			return nil
		}
		if err == unix.EINVAL || err == unix.ENOSYS || err == unix.EPERM {
			// Not every file system knows RENAME_NOREPLACE, nor every filter of system
			// calls this one.
			err = unix.Linkat(int(d.Fd()), temp, int(d.Fd()), name, 0)
		}
		if err != nil {
			err = PathError("rename", f.Name(), err)
		}
	}
	unix.Unlinkat(int(d.Fd()), temp, 0)
	return err
}
