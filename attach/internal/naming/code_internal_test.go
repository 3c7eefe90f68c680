package naming

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/reader"
)

// TestCodeAfterLoss checks that a process that lives is looked at again at once when something
// that the kernel reports was lost, and that a process that has ended keeps its names, and is
// counted once.
func TestCodeAfterLoss(t *testing.T) {
	c := Open(nil, nil, true, nil)
	defer c.Close()
	if c.log == nil {
		_, err := unix.PerfEventOpen(&unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_DUMMY}, -1, 0, -1, unix.PERF_FLAG_FD_CLOEXEC)
		if errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) {
			needs.Skip(t, "needs CAP_PERFMON: %v", err)
		}
		t.Fatalf("the kernel reports nothing: %v", err)
	}
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in.Write([]byte{1})
	out.Read(make([]byte, 1)) // it has mapped what it needs
	pid := cmd.Process.Pid
	for {
		lost := c.log.Lost()
		s := c.Process(pid)
		before := s.Version()
		s.known.Losses-- // as if something had been lost since
		if after := c.Process(pid); after != s || after.Version() == before {
			t.Errorf("the process is not looked at again after a loss")
		}
		if c.log.Lost() == lost {
			break
		}
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s := c.Process(pid)
		if s == nil || len(s.space.Modules()) == 0 {
			t.Fatal("what the process had is forgotten")
		}
		s.known.Losses--
	}
	if n := c.endings.Load(); n != 0 {
		t.Errorf("%d processes had ended when a stack was named, and none was", n)
	}
	for range 2 {
		c.Of(pid, &reader.Probe{}, nil)
	}
	c.Of(os.Getpid(), &reader.Probe{}, nil)
	if n := c.endings.Load(); n != 1 {
		t.Errorf("%d processes had ended when a stack of theirs was named, want 1", n)
	}
}

// TestCodeOutOfReach checks that a process does not count as ended because it cannot be read for
// now.
func TestCodeOutOfReach(t *testing.T) {
	c := Open(nil, nil, false, nil)
	defer c.Close()
	pid := os.Getpid()
	s := c.Process(pid)
	if s == nil {
		t.Fatal("this process cannot be read")
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 0, Max: limit.Max}); err != nil {
		t.Fatal(err)
	}
	s.checked = time.Time{}
	c.Of(pid, &reader.Probe{}, nil)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if n := c.endings.Load(); n != 0 {
		t.Error("a process has ended because files cannot be opened")
	}
}

// TestCodeClosedLate checks that names of code are closed though a file system does not answer, and
// that files which are opened when it does are also closed.
func TestCodeClosedLate(t *testing.T) {
	path, pid := ownCat(t)
	c := Open(nil, nil, false, nil)
	answer, answered, looked := make(chan bool), make(chan error), make(chan bool)
	c.Aside(func() {
		<-answer
		answered <- c.resolver.Keep(pid)
		<-looked
	})
	closed := make(chan error)
	go func() { closed <- c.Close() }()
	select {
	case err := <-closed:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("close waits for what does not come")
	}
	close(answer)
	if err := <-answered; err != nil {
		t.Fatal(err)
	}
	if n := opened(t, path); n == 0 {
		t.Errorf("%s is not open, which nobody has closed yet", path)
	}
	close(looked)
	c.asides.Wait()
	if n := opened(t, path); n > 0 {
		t.Errorf("%s is open %d times", path, n)
	}
}

// ownCat runs a cat whose file no other process has mapped, until the test ends.
func ownCat(t *testing.T) (path string, pid int) {
	t.Helper()
	from, err := exec.LookPath("cat")
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "cat")
	// A child forked while this process had the file open for writing would keep it from being
	// run.
	if out, err := exec.Command("cp", from, path).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := exec.Command(path)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	in.Write([]byte{1})
	out.Read(make([]byte, 1)) // it has mapped what it needs
	return path, cmd.Process.Pid
}

// opened returns how many descriptors of this process are of a file.
func opened(t *testing.T, path string) (n int) {
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if to, err := os.Readlink("/proc/self/fd/" + fd.Name()); err == nil && to == path {
			n++
		}
	}
	return n
}
