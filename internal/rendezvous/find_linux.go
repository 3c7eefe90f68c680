package rendezvous

import (
	"errors"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// find returns the offer of a process whose /proc directory is dir.
func find(dir *os.File) (*offer, error) {
	fds, err := openIn(dir, "fd", unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	defer fds.Close()
	names, err := fds.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var link [64]byte
	for _, name := range names {
		n, err := unix.Readlinkat(int(fds.Fd()), name, link[:])
		if err == unix.EACCES || err == unix.EPERM {
			// Its own user may see that there are descriptors, but not which, if the
			// process has more capabilities or is in an outer user namespace.
			return nil, &os.PathError{Op: "readlink", Path: fds.Name() + "/" + name, Err: err}
		}
		if err != nil || strings.TrimSpace(string(link[:n])) != offerLink {
			continue
		}
		f, err := openIn(fds, name, unix.O_RDONLY|unix.O_NONBLOCK)
		if errors.Is(err, unix.ENOENT) {
			continue // the process has withdrawn it meanwhile
		}
		if err != nil {
			return nil, err
		}
		defer f.Close()
		buf := make([]byte, maxOffer)
		n, err = unix.Pread(int(f.Fd()), buf, 0)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			continue // the process is making its offer: the file has its name before its contents
		}
		o := &offer{}
		return o, o.decode(buf[:n])
	}
	return nil, ErrNotOffered
}

func openIn(dir *os.File, name string, flags int) (*os.File, error) {
	fd, err := unix.Openat(int(dir.Fd()), name, flags|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: dir.Name() + "/" + name, Err: err}
	}
	return os.NewFile(uintptr(fd), dir.Name()+"/"+name), nil
}

func (o *offer) decode(b []byte) error {
	const fixed = 16 + secretSize
	if len(b) < fixed || string(b[:8]) != offerMagic {
		return errors.New("the process's offer cannot be understood")
	}
	o.version = order.Uint32(b[8:])
	o.socket = int32(order.Uint32(b[12:]))
	o.secret = [secretSize]byte(b[16:])
	o.name = string(b[fixed:])
	return nil
}

// Offered reports whether a process offers its probes to this one. The error says why
// that cannot be found out: it wraps fs.ErrPermission where the kernel refuses, and
// fs.ErrNotExist if there is no such process.
func Offered(pid int) (bool, error) {
	dir, err := processDir(pid)
	if err != nil {
		return false, err
	}
	defer dir.Close()
	if _, err = find(dir); errors.Is(err, ErrNotOffered) {
		return false, nil
	}
	return err == nil, err
}

func processDir(pid int) (*os.File, error) {
	path := "/proc/" + strconv.Itoa(pid)
	fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}
