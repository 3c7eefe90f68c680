package procfs_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/internal/systest/witness"
)

func readAll(t *testing.T, path string) (string, error) {
	t.Helper()
	f, err := procfs.OpenFile(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if f.Name() != path {
		t.Errorf("%s is called %s", path, f.Name())
	}
	data, err := io.ReadAll(f)
	return string(data), err
}

// TestOpenFile checks that OpenFile opens regular files and nothing else.
func TestOpenFile(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(
		os.WriteFile(in("file"), []byte("text"), 0o600), unix.Mkfifo(in("fifo"), 0o600), os.Mkdir(in("directory"), 0o700),
		os.Symlink("fifo", in("link")), os.Symlink("file", in("alias")),
	); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", in("socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	refused := map[string]string{"fifo": "a FIFO", "link": "a FIFO", "directory": "a directory", "socket": "a socket"}
	if unix.Mknod(in("device"), unix.S_IFCHR|0o600, int(unix.Mkdev(1, 3))) == nil { // takes root
		refused["device"] = "a device"
	}
	var paths []string
	for name := range refused {
		paths = append(paths, in(name))
	}
	w := witness.Watch(t, paths...)
	for name, what := range refused {
		_, err := procfs.OpenFile(in(name))
		if want := fmt.Sprintf("%s is %s, not a regular file", in(name), what); !errors.Is(err, procfs.ErrNotRegular) || err.Error() != want {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	}
	if opened := w.Opened(); len(opened) > 0 {
		t.Errorf("opened %q", opened)
	}
	for _, name := range []string{"file", "alias"} {
		if got, err := readAll(t, in(name)); got != "text" || err != nil {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
	if _, err := procfs.OpenFile(in("none")); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), in("none")) {
		t.Errorf("got %v, want os.ErrNotExist and the path", err)
	}
}

// TestOpenReplaced opens a path at which a regular file and a FIFO alternate.
func TestOpenReplaced(t *testing.T) {
	if testing.Short() {
		t.Skip("short: it replaces a file very many times")
	}
	dir := t.TempDir()
	path, other := filepath.Join(dir, "path"), filepath.Join(dir, "other")
	if err := errors.Join(os.WriteFile(path, []byte("text"), 0o600), unix.Mkfifo(other, 0o600)); err != nil {
		t.Fatal(err)
	}
	w := witness.Watch(t, other)
	stop, stopped := make(chan bool), make(chan error)
	go func() {
		var err error
		for err == nil {
			select {
			case <-stop:
				stopped <- nil
				return
			default:
				err = unix.Renameat2(unix.AT_FDCWD, path, unix.AT_FDCWD, other, unix.RENAME_EXCHANGE)
			}
		}
		stopped <- err
	}()
	files, fifos := 0, 0
	for (files < 1000 || fifos < 1000) && files+fifos < 100_000 {
		switch got, err := readAll(t, path); {
		case err == nil && got == "text":
			files++
		case errors.Is(err, procfs.ErrNotRegular):
			fifos++
		default:
			t.Fatalf("got %q, %v", got, err)
		}
	}
	close(stop)
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
	if opened := w.Opened(); len(opened) > 0 || files == 0 || fifos == 0 {
		t.Errorf("opened the FIFO %d times; met %d files and %d FIFOs", len(opened), files, fifos)
	}
}

// TestOpenWithoutProc opens files where /proc is not mounted, as in a chroot.
func TestOpenWithoutProc(t *testing.T) {
	cmd := tracee.Again(t)
	if cmd == nil {
		dir := t.TempDir()
		file, fifo := filepath.Join(dir, "file"), filepath.Join(dir, "fifo")
		if err := errors.Join(os.WriteFile(file, []byte("text"), 0o600), unix.Mkfifo(fifo, 0o600), unix.Mount("none", "/proc", "tmpfs", 0, "")); err != nil {
			t.Fatal(err)
		}
		if got, err := readAll(t, file); got != "text" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
		if _, err := procfs.OpenFile(fifo); !errors.Is(err, procfs.ErrNotRegular) {
			t.Errorf("got %v, want ErrNotRegular", err)
		}
		return
	}
	needs.Root(t)
	// The child has its own, private mounts; otherwise it could hide our /proc.
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	tracee.Pass(t, cmd)
}
