package await_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/await"
	"github.com/go-usdt/usdt/internal/gate"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

func TestMain(m *testing.M) {
	tracee.Run(tracee.Roles{"provider": waiting, "listener": listening})
	os.Exit(m.Run())
}

// waiting is the role of a provider that waits.
func waiting([]string) error { return await.Tracer(os.Getenv(await.Variable), time.Minute) }

// listening is the role of a process that listens until its input ends.
func listening([]string) error {
	l, err := gate.Listen()
	if err != nil {
		return err
	}
	fmt.Println(address(l))
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

func address(l *gate.Providers) string {
	_, name, _ := strings.Cut(l.Environment(), "=")
	return name
}

// TestWait waits in this process, for which the tracer does something first, and in
// another, for which it does nothing.
func TestWait(t *testing.T) {
	l, err := gate.Listen()
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var attached atomic.Int32
	go l.Serve(is(os.Getpid()), func() { attached.Add(1) }, func(time.Duration) { t.Error("late") })
	for n := int32(1); n <= 3; n++ {
		if err := await.Tracer(address(l), time.Minute); err != nil || attached.Load() != n {
			t.Errorf("%v; attached %d times, want %d", err, attached.Load(), n)
		}
	}
	other := tracee.Self("provider")
	other.Env = append(other.Env, l.Environment())
	if out, err := other.CombinedOutput(); err != nil || attached.Load() != 3 {
		t.Errorf("another process: %v %s; attached %d times, want 3", err, out, attached.Load())
	}
}

// TestBound checks that the wait for tracers that do not answer, or are gone, is
// bounded.
func TestBound(t *testing.T) {
	const bound = 50 * time.Millisecond
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: "@usdt-test-" + t.Name() + t.TempDir(), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	frozen := l.Addr().String()
	start := time.Now()
	if err := await.Tracer(frozen, bound); err == nil || time.Since(start) < bound {
		t.Errorf("waited %v for a tracer that does not answer: %v", time.Since(start), err)
	}
	// A tracer whose queue of connections is full.
	for range 10_000 {
		c, err := net.DialTimeout("unix", frozen, time.Millisecond)
		if err != nil {
			break
		}
		defer c.Close()
	}
	if err := await.Tracer(frozen, bound); err == nil {
		t.Error("a full queue answers")
	}
	l.Close()
	if err := await.Tracer(frozen, time.Hour); err == nil {
		t.Error("a tracer that is gone answers")
	}
	for _, bad := range []string{"", "relative", "/missing/socket"} {
		if err := await.Tracer(bad, time.Hour); err == nil {
			t.Errorf("address %q is fine", bad)
		}
	}
}

// stranger is the id of a user that nothing else uses.
const stranger = 54321

// as returns a command that runs this binary in a role as a user.
func as(user uint32, role string, environment ...string) *exec.Cmd {
	cmd := tracee.Self(role)
	cmd.Env = append(cmd.Env, environment...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
	return cmd
}

// TestUsers checks that a provider waits only for root and its own user, not for
// another user who listens at a tracer's address.
func TestUsers(t *testing.T) {
	needs.Root(t) // to become others
	other := as(stranger, "listener")
	name := tracee.Start(t, other).Line()
	if err := await.Tracer(name, time.Hour); !errors.Is(err, unix.EPERM) {
		t.Errorf("somebody else's: %v", err)
	}
	l, err := gate.Listen()
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	provider := as(stranger, "provider", l.Environment())
	provider.Stderr = os.Stderr
	if err := provider.Start(); err != nil {
		t.Fatal(err)
	}
	var attached atomic.Int32
	go l.Serve(is(provider.Process.Pid), func() { attached.Add(1) }, func(time.Duration) { t.Error("late") })
	if err := provider.Wait(); err != nil || attached.Load() != 1 {
		t.Errorf("root's: %v, attached %d times", err, attached.Load())
	}
	third := as(stranger+1, "provider", await.Variable+"="+name)
	if out, err := third.CombinedOutput(); err == nil || !strings.Contains(string(out), unix.EPERM.Error()) {
		t.Errorf("a third user's provider: %v %s", err, out)
	}
}

// TestLate checks a provider that does not wait until the end.
func TestLate(t *testing.T) {
	l, err := gate.Listen()
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	left, late := make(chan struct{}), make(chan time.Duration)
	go l.Serve(is(os.Getpid()), func() { <-left }, func(took time.Duration) { late <- took })
	if err := await.Tracer(address(l), time.Millisecond); err == nil {
		t.Error("answered")
	}
	close(left)
	if took := <-late; took <= 0 {
		t.Errorf("took %v", took)
	}
}

// is returns a function that tells a process from others.
func is(own int) func(pid int) bool { return func(pid int) bool { return pid == own } }
