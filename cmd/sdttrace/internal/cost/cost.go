// Package cost measures what tracing takes of CPU time.
package cost

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/session"
)

// Costs measures what tracing takes of the traced processes' CPU time.
type Costs struct {
	stats io.Closer // the kernel measures programs until it is closed
	err   error     // why it does not
	pids  []int     // of the traced processes; nil for all

	mu     sync.Mutex            // of what follows
	before map[int]time.Duration // CPU time when tracing began, by process
	now    map[int]time.Duration
	stop   chan struct{}
	done   chan struct{}
}

// New lets the kernel measure programs.
func New() *Costs {
	c := &Costs{stop: make(chan struct{}), done: make(chan struct{})}
	switch c.stats, c.err = ebpf.EnableStats(uint32(unix.BPF_STATS_RUN_TIME)); {
	case errors.Is(c.err, unix.EPERM):
		c.err = errors.New("the kernel measures programs only for users with CAP_SYS_ADMIN")
	case errors.Is(c.err, ebpf.ErrNotSupported), errors.Is(c.err, unix.EINVAL):
		c.err = errors.New("this kernel does not measure programs: Linux 5.8 does")
	}
	return c
}

// poll is how often the CPU time of processes is read: of one that ends, the last
// interval is not known.
const poll = 100 * time.Millisecond

// Begin notes the CPU time of processes, or of the machine, from now on.
func (c *Costs) Begin(pids []int) {
	c.pids = pids
	c.before, c.now = map[int]time.Duration{}, map[int]time.Duration{}
	c.look()
	for pid, t := range c.now {
		c.before[pid] = t
	}
	go func() {
		defer close(c.done)
		tick := time.NewTicker(poll)
		defer tick.Stop()
		for {
			select {
			case <-c.stop:
				c.look()
				return
			case <-tick.C:
				c.look()
			}
		}
	}()
}

// look reads CPU times. The last times of processes that have ended are kept.
func (c *Costs) look() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.pids) == 0 {
		if text, err := os.ReadFile("/proc/stat"); err == nil {
			c.now[0] = busyTime(text)
		}
	}
	for _, pid := range c.pids {
		if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil {
			c.now[pid] = processTime(text)
		}
	}
}

// tick is the unit of CPU times in /proc: USER_HZ is 100 on every architecture that
// sdttrace runs on.
const tick = time.Second / 100

// busyTime returns for how long the CPUs of the machine were busy, from the first line
// of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal, which is other
// virtual machines'.
func busyTime(stat []byte) (sum time.Duration) {
	line, _, _ := bytes.Cut(stat, []byte("\n"))
	for i, field := range strings.Fields(string(line)) {
		switch i {
		case 1, 2, 3, 6, 7: // behind the name
			n, _ := strconv.ParseInt(field, 10, 64)
			sum += time.Duration(n) * tick
		}
	}
	return sum
}

// processTime returns the CPU time of a process from /proc/PID/stat: utime and stime,
// behind the name, which may have spaces and parentheses.
func processTime(stat []byte) (sum time.Duration) {
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	for _, i := range []int{11, 12} {
		if i < len(fields) {
			n, _ := strconv.ParseInt(fields[i], 10, 64)
			sum += time.Duration(n) * tick
		}
	}
	return sum
}

// End ends the measurement.
func (c *Costs) End() {
	close(c.stop)
	<-c.done
}

// Close lets the kernel measure no more.
func (c *Costs) Close() {
	if c.stats != nil {
		c.stats.Close()
	}
}

// used returns the CPU time of the processes since begin.
func (c *Costs) used() (sum time.Duration) {
	for pid, t := range c.now {
		sum += t - c.before[pid]
	}
	return sum
}

// coster is a tracer whose programs are measured.
type coster interface{ Cost() (attach.Cost, error) }

// Print writes what was measured.
func (c *Costs) Print(stderr io.Writer, s session.Session) error {
	switch {
	case s.Via() == attach.ViaLocal:
		_, err := fmt.Fprintln(stderr, "sdttrace: cost: the processes write events to shared memory themselves: no program runs whose time the kernel measures")
		return err
	case c.err != nil:
		_, err := fmt.Fprintf(stderr, "sdttrace: cost: not measured: %v\n", c.err)
		return err
	}
	cost, err := s.(coster).Cost()
	if err != nil {
		return err
	}
	if cost.Runs == 0 {
		_, err := fmt.Fprintln(stderr, "sdttrace: cost: no program ran")
		return err
	}
	share := ""
	if used := c.used(); used > 0 {
		of := "the machine's busy CPUs"
		if len(c.pids) > 0 {
			of = "the traced processes' CPU time"
		}
		share = fmt.Sprintf(", %.1f %% of %s (%v)", 100*cost.Time.Seconds()/used.Seconds(), of, used)
	}
	_, err = fmt.Fprintf(stderr, "sdttrace: cost: %d ns per event in sdttrace's programs, %v in %d runs%s; the trap into the kernel before each run is not in it\n",
		cost.Time.Nanoseconds()/int64(cost.Runs), cost.Time.Round(time.Microsecond), cost.Runs, share)
	return err
}
