package greet_test

import (
	"net"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-usdt/usdt/internal/gate"
	"github.com/go-usdt/usdt/internal/greet"
)

// TestMain makes this binary a provider that waits, if its environment says so.
func TestMain(m *testing.M) {
	if os.Getenv("GREET") == "" {
		os.Exit(m.Run())
	}
	if err := greet.Wait(os.Getenv(greet.Variable), time.Minute); err != nil {
		os.Stderr.WriteString(err.Error())
		os.Exit(1)
	}
}

func address(l *gate.Providers) string {
	_, name, _ := strings.Cut(l.Environment(), "=")
	return name
}

// TestWait waits in this process, for which something is done first, and in
// another, for which nothing is.
func TestWait(t *testing.T) {
	l, err := gate.Listen()
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var attached atomic.Int32
	go l.Serve(os.Getpid(), func() { attached.Add(1) }, func(time.Duration) { t.Error("late") })
	for n := int32(1); n <= 3; n++ {
		if err := greet.Wait(address(l), time.Minute); err != nil || attached.Load() != n {
			t.Errorf("%v; attached %d times, want %d", err, attached.Load(), n)
		}
	}
	other := exec.Command("/proc/self/exe")
	other.Env = append(os.Environ(), "GREET=1", l.Environment())
	if out, err := other.CombinedOutput(); err != nil || attached.Load() != 3 {
		t.Errorf("another process: %v %s; attached %d times, want 3", err, out, attached.Load())
	}
}

// TestBound meets tracers that do not answer, and such as are gone.
func TestBound(t *testing.T) {
	const bound = 50 * time.Millisecond
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: "@usdt-test-" + t.Name() + t.TempDir(), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	frozen := l.Addr().String()
	start := time.Now()
	if err := greet.Wait(frozen, bound); err == nil || time.Since(start) < bound {
		t.Errorf("waited %v for a tracer that does not answer: %v", time.Since(start), err)
	}
	// One whose queue of connections is full.
	for range 10_000 {
		c, err := net.DialTimeout("unix", frozen, time.Millisecond)
		if err != nil {
			break
		}
		defer c.Close()
	}
	if err := greet.Wait(frozen, bound); err == nil {
		t.Error("a full queue answers")
	}
	l.Close()
	if err := greet.Wait(frozen, time.Hour); err == nil {
		t.Error("a tracer that is gone answers")
	}
	for _, bad := range []string{"", "relative", "/missing/socket"} {
		if err := greet.Wait(bad, time.Hour); err == nil {
			t.Errorf("address %q is fine", bad)
		}
	}
}

// TestLate is for a provider that does not wait until the end.
func TestLate(t *testing.T) {
	l, err := gate.Listen()
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	left, late := make(chan struct{}), make(chan time.Duration)
	go l.Serve(os.Getpid(), func() { <-left }, func(took time.Duration) { late <- took })
	if err := greet.Wait(address(l), time.Millisecond); err == nil {
		t.Error("answered")
	}
	close(left)
	if took := <-late; took <= 0 {
		t.Errorf("took %v", took)
	}
}
