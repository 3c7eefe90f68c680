package rendezvous_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/rendezvous"
	"github.com/go-usdt/usdt/internal/ring"
	"github.com/go-usdt/usdt/internal/systest/leftover"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

func TestMain(m *testing.M) {
	tracee.Run(tracee.Roles{
		"service": serving, "tracer": tracing, "imposter": imposing, "contain": containing, "hide": hiding, "pair": pairing,
		"starved": starving, "lying": lying,
	})
	os.Exit(m.Run())
}

// serving is the role of a process that offers a probe until its input ends. Its
// arguments say how.
func serving(args []string) error {
	dir := os.TempDir()
	for _, arg := range args {
		switch arg {
		case "undumpable":
			if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
				return err
			}
		case "nowhere":
			dir = "/proc/no/such/directory"
		}
	}
	l, err := rendezvous.Listen(&service{sites: map[*ring.Writer][]rendezvous.Site{}}, "service", []string{dir})
	if err != nil {
		return err
	}
	for _, arg := range args {
		if arg == "exhausted" {
			limit := unix.Rlimit{Cur: 3, Max: 3}
			if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
				return err
			}
		}
	}
	fmt.Println("ready")
	io.Copy(io.Discard, os.Stdin)
	return l.Close()
}

// tracing is the role of a tracer of the processes whose numbers are its arguments. It
// says how that goes, and waits for the end of its input.
func tracing(args []string) error {
	for _, arg := range args {
		pid, err := strconv.Atoi(arg)
		if err != nil {
			return err
		}
		fmt.Println(attempt(pid))
	}
	io.Copy(io.Discard, os.Stdin)
	return nil
}

// attempt watches a process and says how that goes.
func attempt(pid int) string {
	offered, err := rendezvous.Offered(pid)
	s, e := rendezvous.Connect(context.Background(), pid, &rendezvous.Options{Size: 256 << 10})
	switch {
	case errors.Is(e, rendezvous.ErrNotOffered) && !offered && err == nil:
		return "not offered"
	case errors.Is(e, fs.ErrPermission) && errors.Is(err, fs.ErrPermission):
		return "not permitted"
	case e != nil:
		return e.Error()
	case !offered || err != nil:
		return fmt.Sprint(offered, err)
	}
	refused, err := s.Watch([]rendezvous.Site{{Location: 0x1000, Number: 1, Layout: &record.Layout{Block: 24}}})
	if err != nil || refused[0] != nil {
		return fmt.Sprint(refused, err)
	}
	return "watching" // and does not end the session
}

// start starts a role as a user, 0 for this one.
func start(t *testing.T, user uint32, role string, args ...string) *tracee.Program {
	t.Helper()
	cmd := tracee.Self(role)
	cmd.Args = append(cmd.Args, args...)
	if user != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
	}
	return tracee.Start(t, cmd)
}

// TestUsers checks who may watch whom.
func TestUsers(t *testing.T) {
	needs.Root(t) // to become others
	const alice, bob = 54321, 54322
	service := start(t, alice, "service")
	service.Line()
	hidden := start(t, alice, "service", "undumpable")
	hidden.Line()
	abstract := start(t, alice, "service", "nowhere")
	abstract.Line()
	pids := []string{strconv.Itoa(service.PID()), strconv.Itoa(hidden.PID()), strconv.Itoa(abstract.PID())}
	for _, test := range []struct {
		user uint32
		want [3]string
	}{
		{alice, [3]string{"watching", "not permitted", "watching"}},
		{bob, [3]string{"not permitted", "not permitted", "not permitted"}},
		{0, [3]string{"watching", "watching", "watching"}},
	} {
		tracer := start(t, test.user, "tracer", pids...)
		for i, want := range test.want {
			if got := tracer.Line(); got != want {
				t.Errorf("user %d, process %d: %s, want %s", test.user, i, got, want)
			}
		}
	}
}

// own offers the probe of this process.
func own(t testing.TB) *service {
	t.Helper()
	s := &service{sites: map[*ring.Writer][]rendezvous.Site{}, ended: make(chan *ring.Writer, 1000), over: map[*ring.Writer]bool{}}
	l, err := rendezvous.Listen(s, "test", []string{t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// address returns the address of this process's socket.
func address(t testing.TB) string {
	t.Helper()
	links, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range links {
		if to, _ := os.Readlink(link); strings.Contains(to, "/usdt-") && !strings.HasPrefix(to, "/memfd:") {
			return link
		}
	}
	t.Fatal("no socket")
	return ""
}

// TestJunk connects many times without a word, or with wrong ones. The process answers
// only a tracer that knows its secret, and keeps nothing.
func TestJunk(t *testing.T) {
	s := own(t)
	name := address(t)
	before := leftover.Descriptors(t)
	goroutines := runtime.NumGoroutine()
	n := 10_000
	if testing.Short() {
		n = 1000
	}
	memory := leftover.Resident(t)
	words := [][]byte{nil, {1}, make([]byte, 40), append([]byte{1, 0, 0, 0, 'u', 's', 'd', 't', 'r', 'i', 'n', 'g', 1, 0, 0, 0}, make([]byte, 20)...), make([]byte, 64<<10)}
	for i := range n {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.Connect(fd, &unix.SockaddrUnix{Name: name}); err != nil {
			t.Fatal(err)
		}
		if word := words[i%len(words)]; word != nil {
			rights := unix.UnixRights(0, 1, 2)
			unix.Sendmsg(fd, word, rights, nil, unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT)
		}
		unix.Close(fd)
	}
	until(t, "a tracer is admitted", func() bool {
		c, err := rendezvous.Connect(t.Context(), os.Getpid(), nil)
		if refused := (*rendezvous.RefusedError)(nil); errors.As(err, &refused) {
			return false // others are being looked at
		}
		if err != nil {
			t.Fatal(err)
		}
		return c.Close() == nil
	})
	<-s.ended
	leftover.Back(t, before)
	until(t, "goroutines end", func() bool { return runtime.NumGoroutine() <= goroutines })
	debug.FreeOSMemory()
	if after := leftover.Resident(t); after > memory+32<<20 {
		t.Errorf("the memory has grown from %d to %d bytes", memory, after)
	}
}

// TestCrowd checks that a process that has as many tracers as it admits says so, and
// admits others when they are gone.
func TestCrowd(t *testing.T) {
	s := own(t)
	var sessions []*rendezvous.Session
	var err error
	for {
		var c *rendezvous.Session
		if c, err = rendezvous.Connect(t.Context(), os.Getpid(), &rendezvous.Options{Size: 1}); err != nil {
			break
		}
		sessions = append(sessions, c)
	}
	if refused := (*rendezvous.RefusedError)(nil); !errors.As(err, &refused) || len(sessions) != 16 {
		t.Errorf("tracer %d: %v", len(sessions), err)
	}
	for _, c := range sessions {
		c.Close()
		<-s.ended
	}
	c, err := rendezvous.Connect(t.Context(), os.Getpid(), nil)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}

// TestExhausted checks that a process without free descriptors goes on, and that a
// tracer is told.
func TestExhausted(t *testing.T) {
	service := start(t, 0, "service", "exhausted")
	service.Line()
	begun := time.Now()
	_, err := rendezvous.Connect(t.Context(), service.PID(), nil)
	if err == nil || !strings.Contains(err.Error(), "descriptors") || time.Since(begun) > time.Minute {
		t.Errorf("after %v: %v", time.Since(begun), err)
	}
}

// TestStopped checks that a tracer does not wait for a process that is stopped.
func TestStopped(t *testing.T) {
	service := start(t, 0, "service")
	service.Line()
	syscall.Kill(service.PID(), syscall.SIGSTOP)
	until(t, "it stops", func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", service.PID()))
		return err == nil && strings.Contains(string(stat), ") T ")
	})
	defer syscall.Kill(service.PID(), syscall.SIGCONT)
	if _, err := rendezvous.Connect(t.Context(), service.PID(), nil); err == nil || !strings.Contains(err.Error(), "does not answer") {
		t.Error(err)
	}
}

// TestHalfOffered checks that a process which is making its offer has not made it yet.
func TestHalfOffered(t *testing.T) {
	fd, err := unix.MemfdCreate("usdt-local", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if _, err := rendezvous.Connect(t.Context(), os.Getpid(), nil); !errors.Is(err, rendezvous.ErrNotOffered) {
		t.Errorf("got %v, want %v", err, rendezvous.ErrNotOffered)
	}
	if offered, err := rendezvous.Offered(os.Getpid()); offered || err != nil {
		t.Errorf("got %v, %v, want that it is not offered", offered, err)
	}
	own(t)
	s, err := rendezvous.Connect(t.Context(), os.Getpid(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// imposing is the role of a process that shows the socket and the secret of another one
// as its own, which it has opened.
func imposing(args []string) error {
	victim := args[0]
	links, err := filepath.Glob("/proc/" + victim + "/fd/*")
	if err != nil {
		return err
	}
	shown := int64(-1)
	var secret []byte
	for _, link := range links {
		to, _ := os.Readlink(link)
		switch {
		case strings.HasPrefix(to, "/memfd:usdt-local"):
			if secret, err = os.ReadFile(link); err != nil {
				return err
			}
		case strings.Contains(to, "/usdt-"):
			fd, err := unix.Open(link, unix.O_PATH, 0)
			if err != nil {
				return err
			}
			shown = int64(fd)
		}
	}
	secret[12], secret[13] = byte(shown), byte(shown>>8)
	fd, err := unix.MemfdCreate("usdt-local", 0)
	if err != nil {
		return err
	}
	if _, err := unix.Write(fd, secret); err != nil {
		return err
	}
	fmt.Println("ready")
	io.Copy(io.Discard, os.Stdin)
	return nil
}

// TestImposter checks that a tracer talks to no process but the one it was told.
func TestImposter(t *testing.T) {
	own(t)
	imposter := start(t, 0, "imposter", strconv.Itoa(os.Getpid()))
	imposter.Line()
	_, err := rendezvous.Connect(t.Context(), imposter.PID(), nil)
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("shows a socket at which process %d listens", os.Getpid())) {
		t.Error(err)
	}
}
