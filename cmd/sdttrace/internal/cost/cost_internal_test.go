package cost

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/reader"
)

func TestProcessTime(t *testing.T) {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	got, err := processTime(os.Getpid())
	if less := time.Duration(u.Utime.Nano() + u.Stime.Nano()); err != nil || got < less || got > less+time.Second {
		t.Errorf("this process ran for %v (%v), want a little more than %v", got, err, less)
	}
}

// TestLeaveOld checks which processes count that were found when tracing had ended.
func TestLeaveOld(t *testing.T) {
	own := os.Getpid()
	for _, c := range []struct {
		began  uint64
		before map[int]time.Duration
		want   time.Duration
	}{
		{ticks() + 1, map[int]time.Duration{}, 0},                       // older, found late
		{0, map[int]time.Duration{}, 5 * time.Second},                   // started since
		{ticks() + 1, map[int]time.Duration{own: 1e9}, 4 * time.Second}, // known from the beginning
	} {
		m := &Costs{began: c.began, before: c.before, now: map[int]time.Duration{own: 5 * time.Second}}
		if m.leaveOld(); m.used() != c.want {
			t.Errorf("began at %d, before %v: used %v, want %v", c.began, c.before, m.used(), c.want)
		}
	}
}

// TestEnded counts the CPU time of a process that starts and ends while others are traced.
func TestEnded(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	plan := attach.Plan{{Attached: true, Path: self, Probe: reader.Probe{Path: self}}}
	c := &Costs{stop: make(chan struct{}), done: make(chan struct{})}
	c.Begin(nil, func() attach.Plan { return plan })
	own := c.before[os.Getpid()]
	cmd := exec.Command(self, "-test.run=^TestBurn$")
	cmd.Env = append(os.Environ(), "BURN=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	for {
		c.mu.Lock()
		burnt := c.now[cmd.Process.Pid]
		c.mu.Unlock()
		if burnt >= burns {
			break
		}
		time.Sleep(poll)
	}
	in.Close()
	cmd.Wait()
	c.End(nil)
	if got := c.used() - (c.now[os.Getpid()] - own); got < burns {
		t.Errorf("a process that has ended counts for %v, and took %v", got, burns)
	}
}

// burns is how much CPU time TestBurn takes.
const burns = 100 * time.Millisecond

// TestBurn is the process of TestEnded: it takes CPU time, and ends with its input.
func TestBurn(t *testing.T) {
	if os.Getenv("BURN") == "" {
		return
	}
	for {
		if used, err := processTime(os.Getpid()); err != nil || used >= burns {
			break
		}
	}
	os.Stdin.Read(make([]byte, 1))
}
