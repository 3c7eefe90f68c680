// Package cost measures what tracing takes of CPU time.
package cost

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/format"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/session"
	"github.com/go-usdt/usdt/internal/printable"
	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/internal/traps"
	"github.com/go-usdt/usdt/reader"
)

// Costs measures what one session takes of the traced processes' CPU time.
type Costs struct {
	stats io.Closer // the kernel measures programs until it is closed
	err   error     // why it does not
	named []int     // the processes that the session is restricted to
	plan  func() attach.Plan

	mu      sync.Mutex            // of what follows
	holders []int                 // processes whose CPU time is read
	seen    map[int]bool          // processes that have been looked at
	young   map[int]bool          // processes that have started since tracing began
	before  map[int]time.Duration // CPU time when tracing began, by process
	now     map[int]time.Duration
	began   uint64 // ticks since the machine was started
	stop    chan struct{}
	done    chan struct{}
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

// poll is how often the CPU time of processes is read: the last interval of one that ends
// is not known.
const poll = 20 * time.Millisecond

// findEvery is how many polls pass until processes are looked for that have started since.
const findEvery = 10

// Begin notes the CPU time of processes from now on: of these or, if there are none, of the
// processes that have mapped files of the plan.
func (c *Costs) Begin(pids []int, plan func() attach.Plan) {
	c.named, c.plan = pids, plan
	c.before, c.now, c.young = map[int]time.Duration{}, map[int]time.Duration{}, map[int]bool{}
	c.began = ticks()
	c.find()
	c.look()
	for pid, t := range c.now {
		c.before[pid] = t
	}
	go func() {
		defer close(c.done)
		tick := time.NewTicker(poll)
		defer tick.Stop()
		for n := 1; ; n++ {
			select {
			case <-c.stop:
				c.find()
				c.look()
				c.leaveOld()
				return
			case <-tick.C:
				if n%findEvery == 0 {
					c.findNew()
				}
				c.look()
			}
		}
	}()
}

// find finds the processes.
func (c *Costs) find() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.holders = c.named; len(c.named) > 0 {
		return
	}
	all, _ := procfs.PIDs() // without /proc there is no CPU time either
	c.holders = holders(c.plan(), all)
	c.seen = map[int]bool{}
	for _, pid := range all {
		c.seen[pid] = true
	}
}

// findNew finds processes that have started since find: these may end before the session does.
func (c *Costs) findNew() {
	c.mu.Lock()
	defer c.mu.Unlock()
	all, _ := procfs.PIDs()
	started := slices.DeleteFunc(all, func(pid int) bool { return c.seen[pid] })
	if len(c.named) > 0 || len(started) == 0 {
		return
	}
	c.holders = append(c.holders, holders(c.plan(), started)...)
	for _, pid := range started {
		c.seen[pid], c.young[pid] = true, true
	}
}

// look reads CPU times. The last times of processes that have ended are kept.
func (c *Costs) look() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, pid := range c.holders {
		if t, err := processTime(pid); err == nil {
			c.now[pid] = t
		}
	}
}

// leaveOld leaves out processes that were not there when tracing began, but had started before:
// what they used until they mapped a file of the plan is not known. Processes that have started since
// count whole.
func (c *Costs) leaveOld() {
	for pid := range c.now {
		if _, ok := c.before[pid]; ok || c.young[pid] { // which may have ended
			continue
		}
		if started, err := procfs.StartTime(pid); err != nil || started < c.began {
			delete(c.now, pid)
		}
	}
}

// ticks returns the time since the machine was started, as /proc has the start of a process.
func ticks() uint64 {
	var t unix.Timespec
	unix.ClockGettime(unix.CLOCK_BOOTTIME, &t) // every kernel has it
	return uint64(time.Duration(t.Nano()) / tick)
}

// tick is the unit of times in /proc: USER_HZ is 100 on every architecture that
// sdttrace runs on.
const tick = time.Second / 100

// processTime returns the CPU time of a process, by its own clock (clock_getcpuclockid(3)): the
// times in /proc are whole ticks.
func processTime(pid int) (time.Duration, error) {
	const sched = 2 // CPUCLOCK_SCHED, include/linux/posix-timers_types.h
	var t unix.Timespec
	err := unix.ClockGettime(int32(^pid<<3|sched), &t)
	return time.Duration(t.Nano()), err
}

// End ends the measurement. Spent, unless it is nil, returns the CPU time that the only process took
// until its end, 0 if it has not ended.
func (c *Costs) End(spent func() time.Duration) {
	close(c.stop)
	<-c.done
	if spent == nil {
		return
	}
	if t := spent(); t > 0 {
		c.now[c.named[0]] = t
	}
}

// Close lets the kernel measure no more.
func (c *Costs) Close() {
	if c.stats != nil {
		c.stats.Close()
	}
}

// used returns the CPU time of the processes since Begin.
func (c *Costs) used() (sum time.Duration) {
	for pid, t := range c.now {
		sum += t - c.before[pid]
	}
	return sum
}

// coster is a session whose programs are measured.
type coster interface{ Cost() (attach.Cost, error) }

// Print writes what was measured, after End. It measures the traps of the session's sites.
func (c *Costs) Print(ctx context.Context, stderr io.Writer, s session.Session) error {
	say := func(format string, args ...any) error {
		_, err := fmt.Fprintf(stderr, "sdttrace: cost: "+format+"\n", args...)
		return err
	}
	switch {
	case s.Via() == attach.ViaLocal:
		return say("the processes write events to shared memory themselves: no program runs whose time the kernel measures")
	case c.err != nil:
		return say("not measured: %v", c.err)
	}
	cost, err := s.(coster).Cost()
	if err != nil {
		return err
	}
	if cost.Runs == 0 {
		return say("no program ran")
	}
	program := cost.Time / time.Duration(cost.Runs)
	least, most, err := allTraps(ctx, s.Plan())
	if err != nil {
		return say("%d ns per event in sdttrace's programs, %v in %d runs; the trap into the kernel before each run is not in it: %v",
			program.Nanoseconds(), cost.Time.Round(time.Microsecond), cost.Runs, err)
	}
	all := interval{least + program, most + program}
	share := ""
	if used := c.used(); used > 0 {
		share = fmt.Sprintf(", %s %% of the %v of CPU time that the processes with these probes took", all.format(func(d time.Duration) string {
			return string(format.AppendShort(nil, min(100, 100*float64(cost.Runs)*d.Seconds()/used.Seconds()), 2))
		}), used.Round(time.Microsecond))
	}
	nanos := func(d time.Duration) string { return fmt.Sprint(d.Nanoseconds()) }
	err = say("%s ns per event: %s ns for the trap into the kernel, as measured on this machine, and %d ns in sdttrace's programs; %s took %s%s",
		all.format(nanos), interval{least, most}.format(nanos), program.Nanoseconds(), printable.Many(cost.Runs, "event", "events"),
		all.format(func(d time.Duration) string {
			return (d * time.Duration(cost.Runs)).Round(time.Microsecond).String()
		}), share)
	switch s.(type) {
	case *attach.Latency, *attach.Pairs:
		if err == nil {
			err = say("of each latency about %s ns are tracing, as much as one event costs: the way back from its start and the way to its end", all.format(nanos))
		}
	}
	return err
}

// allTraps measures the traps of all sites of a plan.
func allTraps(ctx context.Context, plan attach.Plan) (least, most time.Duration, err error) {
	measure, err := traps.New()
	if err != nil {
		return 0, 0, err
	}
	defer measure.Close()
	return measure.Sites(ctx, plan, func(*reader.Probe) bool { return true })
}

// interval is from the cheapest site of a session to the dearest.
type interval struct{ least, most time.Duration }

func (i interval) format(one func(time.Duration) string) string {
	least, most := one(i.least), one(i.most)
	if least == most {
		return least
	}
	return least + " to " + most
}
