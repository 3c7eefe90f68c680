package attach_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/provider"
)

func init() { roles["timens"] = tracee.Obey(timensChild()) }

// timensChild traces itself and compares the times of its events with its wall
// clock.
func timensChild() func(string) error {
	p := provider.New("timens", nil)
	now := provider.NewProbe0(p, "now")
	return func(command string) error {
		if command == "check" {
			return inTimeNamespace()
		}
		if err := p.Load(); err != nil {
			return err
		}
		defer p.Close()
		s, err := attach.Open(context.Background(), []string{"timens:now"}, &attach.Options{Target: attach.Target{PIDs: []int{os.Getpid()}}})
		if err != nil {
			return err
		}
		defer s.Close()
		before := time.Now().Round(0)
		now.Fire()
		after := time.Now().Round(0)
		if err := s.Stop(); err != nil {
			return err
		}
		n := 0
		for ev, err := range s.Events() {
			if err != nil {
				return err
			}
			// The wall clock is read with some imprecision.
			const slack = time.Millisecond
			if ev.Time.Before(before.Add(-slack)) || ev.Time.After(after.Add(slack)) {
				return fmt.Errorf("event at %v, but it was fired between %v and %v", ev.Time, before, after)
			}
			n++
		}
		if n != 1 {
			return fmt.Errorf("%d events, want 1", n)
		}
		return nil
	}
}

// inTimeNamespace returns an error unless this process's monotonic clock has an
// offset.
func inTimeNamespace() error {
	own, err := os.Readlink("/proc/self/ns/time")
	if err != nil {
		return err
	}
	offsets, err := os.ReadFile("/proc/self/timens_offsets")
	if own == "time:[4026531834]" {
		err = errors.Join(err, fmt.Errorf("still in the initial time namespace; offsets %q", offsets))
	}
	return err
}

// TestTimeNamespace traces from a process whose monotonic clock is ahead of the
// clock of BPF programs, and from one whose clock is behind.
func TestTimeNamespace(t *testing.T) {
	needs.Tools(t, "sh")
	open(t, "/proc/self/exe:timens:now", &attach.Options{Await: true, Rescan: time.Hour}) // or skip
	for _, offset := range []string{"100000 5", "-1 0"} {
		t.Run(offset, func(t *testing.T) {
			p := startInTimeNamespace(t, "timens", offset)
			p.Do("check")
			p.Do("trace")
			if err := p.End(); err != nil {
				t.Error(err)
			}
		})
	}
}

// startInTimeNamespace is startChild with an offset of seconds and nanoseconds on
// the child's CLOCK_MONOTONIC. The calling goroutine must end, and its thread
// with it.
func startInTimeNamespace(t *testing.T, name, offset string) *tracee.Program {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", `"$0"; exit $?`, exe)
	cmd.Env = tracee.Self(name).Env
	if !entersByExec(t) {
		// The shell makes the namespace, and the processes that it forks are in
		// it.
		cmd.Args[2] = `echo "monotonic ` + offset + `" > /proc/$$/timens_offsets && "$0"; exit $?`
		cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWTIME}
		return start(t, cmd)
	}
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWTIME); err != nil {
		t.Fatal(err)
	}
	offsets := fmt.Sprintf("/proc/%d/timens_offsets", unix.Gettid())
	if err := os.WriteFile(offsets, []byte("monotonic "+offset+"\n"), 0); err != nil {
		t.Fatal(err)
	}
	return start(t, cmd)
}

// entersByExec reports whether a program enters, by exec, the time namespace that
// its parent made for children. Before Linux 6.3 (fs/exec.c: begin_new_exec) a
// process that shares its parent's memory until it runs a program, as those of
// os/exec do, could not even be made.
func entersByExec(t *testing.T) bool {
	t.Helper()
	unshared, ran := errors.New("not tried"), error(nil)
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		if unshared = unix.Unshare(unix.CLONE_NEWTIME); unshared == nil {
			ran = exec.Command("sh", "-c", "exit 0").Run()
		}
	}()
	<-done
	if unshared != nil {
		needs.Skip(t, "no time namespaces here: %v", unshared)
	}
	if ran != nil && !errors.Is(ran, unix.EINVAL) {
		t.Fatal(ran)
	}
	return ran == nil
}
