package clock

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach/internal/process"
	"github.com/go-usdt/usdt/internal/ring"
)

// Clock converts the time that BPF programs read, CLOCK_MONOTONIC of the initial
// time namespace, to wall time. Both run at the same rate, also when they are
// adjusted, and differ by a constant until somebody sets the wall clock or the
// machine wakes up; clock notices that within interval. Otherwise the times
// of two events differ by exactly as much as the times that BPF programs read.
type Clock struct {
	measure func() sample // nil for the wall clock
	current sample
	since   uint64 // the time from which current.offset holds
	before  int64  // the offset until then
	until   uint64 // the time from which current is to be checked
}

// sample is what the two clocks show at one time.
type sample struct {
	at     uint64 // by the clock of BPF programs
	offset int64  // nanoseconds from there to CLOCK_REALTIME
	slack  int64  // how far the offset may be wrong
}

const (
	interval = uint64(10 * time.Millisecond)
	tries    = 3 // the one that nothing interrupted counts
)

// New returns a clock for this process.
func New() (Clock, error) {
	by, err := ahead("/proc/self")
	if err != nil {
		return Clock{}, fmt.Errorf("read the clock offset of this time namespace: %w", err)
	}
	c := Clock{measure: func() sample { return read(by) }}
	c.current = c.measure()
	c.before = c.current.offset
	return c, nil
}

// Now returns what reads the clock of records, as this process may do at any time.
func Now() (func() uint64, error) {
	by, err := ahead("/proc/self")
	if err != nil {
		return nil, err
	}
	return func() uint64 { return ring.Now() - uint64(by) }, nil
}

// Fixed returns a clock for records with times of the wall clock, which it never
// measures.
func Fixed() Clock { return Clock{} }

// Wall returns the wall time of a record's.
func (c *Clock) Wall(monotonic uint64) time.Time {
	if c.measure != nil && monotonic >= c.until {
		c.check()
	}
	offset := c.current.offset
	if monotonic < c.since {
		offset = c.before
	}
	return time.Unix(0, int64(monotonic)+offset)
}

// check finds out whether the wall clock was set since the last check.
func (c *Clock) check() {
	now := c.measure()
	c.until = now.at + interval
	by := now.offset - c.current.offset
	switch slack := now.slack + c.current.slack; {
	case by > slack || by < -slack:
		c.before, c.since = c.current.offset, c.current.at
		c.current = now
	case now.slack < c.current.slack/4: // much more precise than current
		c.current = now
	default:
		c.current.at = now.at // current is still right
	}
}

// read reads the wall clock between two readings of CLOCK_MONOTONIC, which
// is ahead of the clock of BPF programs by ahead nanoseconds.
func read(ahead int64) sample {
	best := sample{slack: 1<<63 - 1}
	for range tries {
		var first, real, last unix.Timespec
		// The kernel refuses only clocks that do not exist.
		unix.ClockGettime(unix.CLOCK_MONOTONIC, &first)
		unix.ClockGettime(unix.CLOCK_REALTIME, &real)
		unix.ClockGettime(unix.CLOCK_MONOTONIC, &last)
		width := last.Nano() - first.Nano()
		if slack := width/2 + 1; slack < best.slack {
			middle := first.Nano() + width/2 - ahead
			best = sample{at: uint64(middle), offset: real.Nano() - middle, slack: slack}
		}
	}
	return best
}

// ahead returns how many nanoseconds CLOCK_MONOTONIC of a process is ahead of the initial time namespace's. See man 7 time_namespaces.
func ahead(dir string) (int64, error) {
	own, err := os.Readlink(dir + "/ns/time")
	if errors.Is(err, os.ErrNotExist) || err == nil && own == process.InitialTimeNamespace {
		return 0, nil // the initial time namespace, or a kernel without others
	}
	if err != nil {
		return 0, err
	}
	// The file shows the offsets of the namespace that future children get.
	children, err := os.Readlink(dir + "/ns/time_for_children")
	if err != nil {
		return 0, err
	}
	if children != own {
		return 0, errors.New("this process has made another one for its children, and the kernel shows only the offset of that one: trace from another process")
	}
	f, err := os.Open(dir + "/timens_offsets")
	if err != nil {
		return 0, err
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var sec, nsec int64
		if rest, ok := strings.CutPrefix(lines.Text(), "monotonic"); ok {
			if _, err := fmt.Sscan(rest, &sec, &nsec); err != nil {
				return 0, fmt.Errorf("%s/timens_offsets: %w", dir, err)
			}
			return sec*int64(time.Second) + nsec, nil
		}
	}
	return 0, fmt.Errorf("%s/timens_offsets does not mention the clock", dir)
}
