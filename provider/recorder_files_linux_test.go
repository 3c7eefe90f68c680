//go:build !usdt_nolocal

package provider_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/provider"
)

func init() { roles["recorded-once"] = recordingOnce }

// recordingOnce is the role of a service that fires as often as its second argument
// says, records to the directory that is the first one, and does what a third one says,
// or waits for the end of its input.
func recordingOnce(args []string) error {
	p := provider.New("recordedonce", &provider.Options{FlightRecorder: &provider.FlightRecorder{Dir: args[0], Size: 256 << 10}})
	event := provider.NewProbe1[int](p, "event", "n")
	if err := p.Load(); err != nil {
		return err
	}
	var n int
	if _, err := fmt.Sscan(args[1], &n); err != nil {
		return err
	}
	for i := range n {
		event.Fire(i)
	}
	switch args[2] {
	case "panic":
		panic("on purpose")
	case "exec":
		cmd := tracee.Self("recorded-once", args[0], fmt.Sprint(n+1), "")
		return syscall.Exec("/proc/self/exe", cmd.Args, cmd.Env)
	}
	fmt.Println("ready")
	fmt.Scanln()
	return p.Close()
}

// once starts such a service.
func once(t *testing.T, dir string, n int, end string) *tracee.Program {
	return tracee.Start(t, tracee.Self("recorded-once", dir, fmt.Sprint(n), end))
}

// checkOnce checks that recordings hold what n services of that kind have fired, each
// once.
func checkOnce(t *testing.T, paths []string, fired ...int) {
	t.Helper()
	if len(paths) != len(fired) {
		t.Fatalf("recordings %q, want %d", paths, len(fired))
	}
	want := map[int]bool{}
	for _, n := range fired {
		want[n] = true
	}
	for _, path := range paths {
		got, counts := replay(t, path)
		if !want[len(got)] || counts.Damaged+counts.Unknown != 0 {
			t.Errorf("%s: %d events, counts %+v, want one of %v", path, len(got), counts, fired)
		}
		delete(want, len(got))
		for i, ev := range got {
			if ev.Args[0].Value != int64(i) {
				t.Fatalf("event %d is %v", i, ev.Args)
			}
		}
	}
}

// TestRecorderDirectory checks the modes of what a recorder makes, and which directories
// it refuses.
func TestRecorderDirectory(t *testing.T) {
	defer unix.Umask(unix.Umask(0))
	root := t.TempDir()
	dir := filepath.Join(root, "new")
	p := recorded(t, dir)
	provider.NewProbe0(p, "x")
	load(t, p)
	for path, want := range map[string]os.FileMode{dir: os.ModeDir | 0o700, recordings(t, dir)[0]: 0o600} {
		if st, err := os.Lstat(path); err != nil || st.Mode() != want {
			t.Errorf("%s has mode %v, %v, want %v", path, st.Mode(), err, want)
		}
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	link, open := filepath.Join(root, "link"), filepath.Join(root, "open")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(open, 0o777); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{link: "a symbolic link is not followed", open: "can be written to by others"} {
		p := recorded(t, dir)
		pr := provider.NewProbe0(p, "x")
		if err := p.Load(); err == nil || !strings.Contains(err.Error(), "flight recorder") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", dir, err, want)
		}
		pr.Fire()
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestRecorderShared checks that processes of several PID namespaces, which have the same
// number, record to one directory, and do not remove files that others write to.
func TestRecorderShared(t *testing.T) {
	if testing.Short() {
		t.Skip("short: starts twelve processes, and no kernel makes a difference")
	}
	needs.Root(t) // to make PID namespaces
	dir := filepath.Join(t.TempDir(), "shared")
	var fired []int
	for i := range 12 {
		cmd := tracee.Self("recorded-once", dir, fmt.Sprint(100+i), "")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
		tracee.Start(t, cmd).Ready()
		fired = append(fired, 100+i)
	}
	checkOnce(t, recordings(t, dir), fired...)
}

// TestRecorderEnds checks that a recording outlives a panic, and that a process that
// executes another program begins another one.
func TestRecorderEnds(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ends")
	p := tracee.StartVictim(t, tracee.Self("recorded-once", dir, "10", "panic"))
	if err := p.End(); err == nil || !strings.Contains(err.Error(), "on purpose") {
		t.Errorf("the service ends with %v", err)
	}
	checkOnce(t, recordings(t, dir), 10)
	once(t, dir, 20, "exec").Ready()
	checkOnce(t, recordings(t, dir), 10, 20, 21)
}

// TestRecorderRefused checks the error that a service gets if it cannot have a file, and
// that it goes on.
func TestRecorderRefused(t *testing.T) {
	if cmd := tracee.Again(t); cmd != nil {
		needs.Root(t) // to mount
		cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
		tracee.Pass(t, cmd)
		return
	}
	mount := func(fs, data string) string {
		dir := t.TempDir()
		if err := unix.Mount("none", dir, fs, 0, data); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
		if err := os.Chmod(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	refused := func(dir, want string) {
		t.Helper()
		p := recorded(t, dir)
		pr := provider.NewProbe0(p, "x")
		err := p.Load()
		if err == nil || !strings.Contains(err.Error(), "flight recorder: "+want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("got %v, want %q", err, want)
		}
		pr.Fire()
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if left := recordings(t, dir); len(left) > 0 {
			t.Errorf("files %q are left", left)
		}
	}
	refused(mount("tmpfs", "size=512k"), "fallocate: no space left on device")
	disk := filepath.Join(t.TempDir(), "disk")
	if err := errors.Join(os.WriteFile(disk, nil, 0o600), os.Truncate(disk, 128<<20)); err != nil {
		t.Fatal(err)
	}
	if filesystems, _ := os.ReadFile("/proc/filesystems"); strings.Contains(string(filesystems), "\tbtrfs\n") {
		needs.Tools(t, "mkfs.btrfs", "mount")
		needs.Run(t, "mkfs.btrfs", "-q", disk)
		dir := mount("tmpfs", "size=64k")
		needs.Run(t, "mount", "-o", "loop", disk, dir)
		t.Cleanup(func() { unix.Unmount(dir, 0) })
		if err := os.Chmod(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		refused(dir, "the file system writes to other places each time (btrfs, ZFS, bcachefs), and a full disk would end the process: choose a directory of another one, such as /dev/shm")
	}
	refused(mount("ramfs", ""), "the file system cannot allocate a file's memory in advance (fallocate): choose a directory of another one")
	// A file that exceeds the limit would end the process by a signal.
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 512 << 10, Max: before.Max}); err != nil {
		t.Fatal(err)
	}
	refused(dir, "fallocate: file too large")
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}

	// A disk that fills up later does not matter to what is recorded, only to probes
	// that need a description.
	dir = mount("tmpfs", "size=2m")
	p := recorded(t, dir)
	one := provider.NewProbe2[int, string](p, "one", "n", "s")
	load(t, p)
	junk, err := os.Create(filepath.Join(dir, "junk"))
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = junk.Write(make([]byte, 4096))
	}
	junk.Close()
	for i := range 100_000 { // several times as much as there is room
		one.Fire(i, "sixteen bytes ok")
	}
	for _, name := range []string{"two", "late"} {
		probe := provider.NewProbe0(p, name)
		for name == "late" && provider.Pending(p) > 0 { // until it is published in the background
			time.Sleep(time.Millisecond)
		}
		if err := p.Load(); err == nil || !strings.Contains(err.Error(), "flight recorder: ") || !strings.Contains(err.Error(), "no space left on device") {
			t.Errorf("%s: a description that does not fit: %v", name, err)
		}
		probe.Fire()
	}
	one.Fire(100_000, "")
	got, counts := replay(t, recordings(t, dir)[0])
	if len(got) < 10_000 || counts.Recorded != 100_001 || counts.Damaged+counts.Unknown != 0 || got[len(got)-1].Args[0].Value != int64(100_000) {
		t.Errorf("%d events, counts %+v", len(got), counts)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}
