package perfetto

import (
	"time"

	"golang.org/x/sys/unix"
)

// clock converts the times of events, which the wall clock gives, to the clock of the
// trace: that of the kernel's own traces, which goes on while the machine sleeps, or the
// wall clock for events that were recorded earlier, perhaps before the machine was started.
type clock struct {
	boot    bool
	ahead   int64 // the wall clock, in nanoseconds
	checked time.Time
}

// checkEvery is how often the clocks are compared, and step by how much their difference
// changes if somebody has set the wall clock: two readings are never of one moment.
const (
	checkEvery = time.Second
	step       = int64(time.Millisecond)
)

// at returns a time of the wall clock by that of the trace.
func (c *clock) at(t time.Time) uint64 {
	return uint64(max(t.UnixNano()-c.ahead, 0))
}

// check compares the clocks, and reports whether the wall clock has been set.
func (c *clock) check() bool {
	if !c.boot || time.Since(c.checked) < checkEvery {
		return false
	}
	c.checked = time.Now()
	r := readClocks()
	ahead := int64(r.wall - r.boot)
	if d := ahead - c.ahead; d > -step && d < step {
		return false
	}
	c.ahead = ahead
	return true
}

// readings are what clocks show at one time, in nanoseconds.
type readings struct{ boot, monotonic, wall uint64 }

// readClocks reads the clocks, several times: the shortest time counts.
func readClocks() (best readings) {
	shortest := int64(1<<63 - 1)
	for range 5 {
		var first, wall, monotonic, last unix.Timespec
		// The kernel refuses only clocks that do not exist.
		unix.ClockGettime(unix.CLOCK_BOOTTIME, &first)
		unix.ClockGettime(unix.CLOCK_REALTIME, &wall)
		unix.ClockGettime(unix.CLOCK_MONOTONIC, &monotonic)
		unix.ClockGettime(unix.CLOCK_BOOTTIME, &last)
		if took := last.Nano() - first.Nano(); took < shortest {
			shortest = took
			best = readings{uint64(first.Nano() + took/2), uint64(monotonic.Nano()), uint64(wall.Nano())}
		}
	}
	return best
}

// appendClocks appends what relates the clock of the trace to others.
func (c *clock) appendClocks(dst []byte) []byte {
	dst, start := open(dst, packetClockSnapshot)
	add := func(id int, at uint64) {
		b, start := open(dst, snapshotClock)
		dst = closed(appendUint(appendUint(b, clockID, uint64(id)), clockTimestamp, at), start)
	}
	r := readClocks()
	// Also where the wall clock is the trace's: readers put the clock of the kernel's traces
	// in relation to it, and otherwise complain.
	add(clockBoottime, r.boot)
	add(clockMonotonic, r.monotonic)
	add(clockRealtime, r.wall)
	return closed(appendUint(dst, snapshotPrimary, c.id()), start)
}

// id returns the number of the trace's clock.
func (c *clock) id() uint64 {
	if c.boot {
		return clockBoottime
	}
	return clockRealtime
}
