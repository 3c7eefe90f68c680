package abuse_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

func init() {
	roles["events"] = func(args []string) error {
		return trace(args, &attach.Options{})
	}
	roles["perf"] = func(args []string) error {
		return trace(args, &attach.Options{Link: attach.PerfLink})
	}
	roles["count"] = func(args []string) error {
		pid, err := strconv.Atoi(args[0])
		if err != nil {
			return err
		}
		a, err := attach.OpenAggregate(context.Background(), selectors, attach.Count().By("text"), &attach.Options{Target: attach.Target{PIDs: []int{pid}}})
		if err != nil {
			return err
		}
		for {
			if _, err := a.Read(); err != nil {
				return err
			}
		}
	}
}

// trace attaches to a process and detaches, again and again.
func trace(args []string, opts *attach.Options) error {
	pid, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	opts.Target.PIDs = []int{pid}
	for {
		s, err := attach.Open(context.Background(), selectors, opts)
		if err != nil {
			return err
		}
		n := 0
		for _, err := range s.Events() {
			if err != nil {
				return err
			}
			if n++; n == 1000 {
				break
			}
		}
		if err := s.Close(); err != nil {
			return err
		}
	}
}

// TestTracersKilled kills tracers at random moments, 200 times: while they
// start, attach, read and detach, every fourth only after it has attached.
// Nothing may stay behind in the victim, which fires all the time.
func TestTracersKilled(t *testing.T) {
	v := startVictim(t)
	v.Do("spin 2")
	before := leaked(t)
	// The random numbers are the same each time; the moments are not.
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 200 {
		name := "events"
		switch {
		case i%20 == 19:
			name = "perf" // detaching takes the kernel 0.1 s a site
		case i%3 == 2:
			name = "count"
		}
		tracer := tracee.StartVictim(t, tracerCommand(name, fmt.Sprint(v.PID())))
		if comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", tracer.PID())); string(comm) != filepath.Base(tracerPath)+"\n" {
			t.Fatalf("the kernel calls a tracer %q (%v), want %s, by which leaks are counted", comm, err, filepath.Base(tracerPath))
		}
		most := 120
		if i%4 == 3 {
			most = 40
			eventually(t, func() string {
				if v.watched() {
					return ""
				}
				return fmt.Sprintf("%s tracer %d does not attach", name, i)
			})
		}
		time.Sleep(time.Duration(random.IntN(most)) * time.Millisecond)
		tracer.Kill()
		if tracer.Stderr().String() != "" {
			t.Fatalf("%s tracer: %s", name, tracer.Stderr())
		}
		v.checkClean()
		// A smaller number means that the log has wrapped or was cleared.
		n := leaked(t)
		if n > before {
			t.Errorf("the kernel has leaked %d uprobes of tracer %d, %s", n-before, i, name)
		}
		before = n
	}
	// The victim can be traced as before.
	s := open(t, &attach.Options{Target: attach.Target{PIDs: []int{v.PID()}}})
	n := 0
	for ev, err := range s.Events() {
		if err != nil {
			t.Fatal(err)
		}
		if ev.PID != v.PID() {
			t.Errorf("event of process %d", ev.PID)
		}
		if n++; n == 100 {
			break
		}
	}
	finish(t, s)
}

// leaked counts the uprobes of this test's tracers that the kernel could not
// remove, by its log ("uprobe: COMM:PID failed to unregister, leaking uprobe").
func leaked(t testing.TB) int {
	t.Helper()
	size, err := unix.Klogctl(unix.SYSLOG_ACTION_SIZE_BUFFER, nil)
	if err != nil {
		t.Fatal(err)
	}
	log := make([]byte, size)
	n, err := unix.Klogctl(unix.SYSLOG_ACTION_READ_ALL, log)
	if err != nil {
		t.Fatal(err)
	}
	all := 0
	for line := range strings.Lines(string(log[:n])) {
		if strings.Contains(line, "uprobe: "+filepath.Base(tracerPath)+":") && strings.Contains(line, "leaking uprobe") {
			all++
		}
	}
	return all
}

// TestTracerStarved checks that a tracer without a spare descriptor says so and
// holds nothing.
func TestTracerStarved(t *testing.T) {
	v := startVictim(t)
	cmd := tracerCommand("starved", fmt.Sprint(v.PID()))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	v.checkClean()
}

func init() {
	// starved opens a session with ever more descriptors until it succeeds.
	roles["starved"] = func(args []string) error {
		pid, err := strconv.Atoi(args[0])
		if err != nil {
			return err
		}
		first, err := attach.Open(context.Background(), selectors, &attach.Options{Target: attach.Target{PIDs: []int{pid}}})
		if err != nil {
			return err
		}
		if err := first.Close(); err != nil {
			return err
		}
		before, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			return err
		}
		for spare := 0; spare < 100; spare++ {
			if err := limitFiles(len(before) + spare); err != nil {
				return err
			}
			s, err := attach.Open(context.Background(), selectors, &attach.Options{Target: attach.Target{PIDs: []int{pid}}})
			if err == nil {
				if spare == 0 {
					return fmt.Errorf("a session opened without any descriptor")
				}
				err = s.Close()
				if err == nil && len(s.Plan()) != len(selectors) {
					err = fmt.Errorf("%d sites, want %d", len(s.Plan()), len(selectors))
				}
				return err
			}
			if err := limitFiles(1000); err != nil {
				return err
			}
			// Perf events are closed in the background.
			for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
				after, err := os.ReadDir("/proc/self/fd")
				if err != nil {
					return err
				}
				if len(after) <= len(before) {
					break
				}
				if time.Now().After(deadline) {
					return fmt.Errorf("%d descriptors before and %d after a session that failed with %d to spare", len(before), len(after), spare)
				}
			}
		}
		return fmt.Errorf("100 descriptors are not enough")
	}
}
