package attach

import (
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestCodeAfterLoss checks that a process that lives is looked at again at once when something
// was lost of what the kernel tells, and that one that has ended keeps its names, and is counted
// once.
func TestCodeAfterLoss(t *testing.T) {
	c := newCodeNames(nil, true)
	defer c.close()
	if c.log == nil {
		_, err := unix.PerfEventOpen(&unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_DUMMY}, -1, 0, -1, unix.PERF_FLAG_FD_CLOEXEC)
		if errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) {
			needs.Skip(t, "needs CAP_PERFMON: %v", err)
		}
		t.Fatalf("the kernel tells nothing: %v", err)
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
		s := c.process(pid)
		before := s.current()
		s.known.Losses-- // as if something had been lost since
		if after := c.process(pid); after != s || after.current() == before {
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
		s := c.process(pid)
		if s == nil || len(s.space.Modules()) == 0 {
			t.Fatal("what the process had is forgotten")
		}
		s.known.Losses--
	}
	if n := c.endings.Load(); n != 1 {
		t.Errorf("%d processes have ended, want 1", n)
	}
	if c.process(os.Getpid()) == nil || c.endings.Load() != 1 {
		t.Error("this process has ended")
	}
}

// TestCodeClosedLate checks that names of code are closed though a file system does not answer, and
// that files which are opened when it does are closed, too.
func TestCodeClosedLate(t *testing.T) {
	c := newCodeNames(nil, false)
	answer, answered := make(chan bool), make(chan error)
	c.aside(func() {
		<-answer
		answered <- c.resolver.Keep(os.Getpid())
	})
	closed := make(chan error)
	go func() { closed <- c.close() }()
	select {
	case err := <-closed:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("close waits for what does not come")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	before := opened(t, self)
	close(answer)
	if err := <-answered; err != nil {
		t.Fatal(err)
	}
	c.asides.Wait()
	if after := opened(t, self); after != before {
		t.Errorf("%s is open %d times, %d before", self, after, before)
	}
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
