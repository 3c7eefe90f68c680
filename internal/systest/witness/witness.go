// Package witness reports which files have been opened.
package witness

import (
	"encoding/binary"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

// Witness watches files, also if they are renamed.
type Witness struct {
	t     testing.TB
	fd    int
	paths map[int32]string
}

// Watch begins to watch the files at paths. Watching does not open a file, so
// that these may be FIFOs and devices.
func Watch(t testing.TB, paths ...string) *Witness {
	t.Helper()
	w := watch(t)
	for _, path := range paths {
		w.add(path)
	}
	// Some kernels also report files that are held and not opened (O_PATH).
	held := filepath.Join(t.TempDir(), "held")
	if err := unix.Mkfifo(held, 0o600); err != nil {
		t.Fatal(err)
	}
	trial := watch(t)
	trial.add(held)
	fd, err := unix.Open(held, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	unix.Close(fd)
	if len(trial.Opened()) > 0 {
		needs.Skip(t, "this kernel reports files that are not opened")
	}
	return w
}

func watch(t testing.TB) *Witness {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	return &Witness{t: t, fd: fd, paths: map[int32]string{}}
}

func (w *Witness) add(path string) {
	w.t.Helper()
	n, err := unix.InotifyAddWatch(w.fd, path, unix.IN_OPEN)
	if err != nil {
		w.t.Fatal(err)
	}
	w.paths[int32(n)] = path
}

// Opened returns the paths of the files that have been opened since the previous
// call.
func (w *Witness) Opened() (paths []string) {
	w.t.Helper()
	buf := make([]byte, 64<<10)
	for {
		n, err := unix.Read(w.fd, buf)
		if err == unix.EAGAIN {
			return paths
		}
		if err != nil {
			w.t.Fatal(err)
		}
		// inotify(7): struct inotify_event, wd and mask first, the name's length last
		for b := buf[:n]; len(b) >= unix.SizeofInotifyEvent; {
			wd, mask, name := int32(binary.NativeEndian.Uint32(b)), binary.NativeEndian.Uint32(b[4:]), binary.NativeEndian.Uint32(b[12:])
			if mask&unix.IN_OPEN != 0 {
				paths = append(paths, w.paths[wd])
			}
			b = b[unix.SizeofInotifyEvent+name:]
		}
	}
}
