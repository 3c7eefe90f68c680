package gate_test

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/gate"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// guardArgument makes this binary a guard, if it is the first one.
const guardArgument = "guard"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == guardArgument {
		group, _ := strconv.Atoi(os.Args[3])
		if err := gate.Stand(os.Args[2], group); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	tracee.Run(tracee.Roles{"tracer": tracer})
	os.Exit(m.Run())
}

// tracer has a guard and a stopped child, whose id it prints. When tracer is
// killed, the thread that started the child takes longest to end: it has
// descriptors of its own that take time to close.
func tracer([]string) error {
	g, err := gate.StartGuard(guardArgument)
	if err != nil {
		return err
	}
	started := make(chan error)
	child := exec.Command("sleep", "60")
	child.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGCONT}
	go func() {
		runtime.LockOSThread()
		started <- func() error {
			if err := child.Start(); err != nil {
				return err
			}
			if err := g.Keep(child.Process.Pid); err != nil {
				return err
			}
			if err := child.Process.Signal(syscall.SIGSTOP); err != nil {
				return err
			}
			if err := unix.Waitid(unix.P_PID, child.Process.Pid, nil, unix.WSTOPPED, nil); err != nil {
				return err
			}
			if err := unix.Unshare(unix.CLONE_FILES); err != nil {
				return err
			}
			for range 20 {
				fd, err := unix.InotifyInit1(0)
				if err != nil {
					return err
				}
				if _, err := unix.InotifyAddWatch(fd, "/", unix.IN_ACCESS); err != nil {
					return err
				}
			}
			return nil
		}()
		select {}
	}()
	if err := <-started; err != nil {
		return err
	}
	fmt.Println(child.Process.Pid)
	select {}
}

// TestOrphaned kills a process with a stopped child, which would orphan the
// child's group. The child goes on, and gets no SIGHUP.
func TestOrphaned(t *testing.T) {
	needs.Root(t)
	// The child becomes this process's, which learns how it ends.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	defer unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
	for range 10 {
		tracer := tracee.Self("tracer")
		tracer.Stderr = os.Stderr // nobody waits for the guard, which has it as well
		tracer.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		p := tracee.StartVictim(t, tracer)
		line := p.Line()
		child, err := strconv.Atoi(line)
		if err != nil {
			t.Fatal(line)
		}
		p.Kill()
		if err := unix.Kill(child, unix.SIGUSR1); err != nil { // ends it, unless it stands still
			t.Fatal(err)
		}
		var status unix.WaitStatus
		if _, err := unix.Wait4(child, &status, 0, nil); err != nil {
			t.Fatal(err)
		}
		if !status.Signaled() || status.Signal() != unix.SIGUSR1 {
			t.Errorf("the child ended by %v, want %v", status.Signal(), unix.SIGUSR1)
		}
		// This process also has to wait for the guard's processes.
		if _, err := unix.Wait4(-1, nil, 0, nil); err != nil && err != unix.ECHILD {
			t.Fatal(err)
		}
	}
}
