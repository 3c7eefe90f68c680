package usdtreceiver

import (
	"context"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// slots bound how many traces look for probes at a time: that takes the most memory of all that they
// do, for less than a second.
var slots = make(chan struct{}, 2)

// longest is how long one waits for others, which may look at files that never answer.
const longest = 5 * time.Second

// opens is how many traces open a session.
var opens atomic.Int32

// opening opens a session once there is a slot, and notes what that took of the processors.
func opening[S any](ctx context.Context, e *env, open func() (S, error)) (S, error) {
	late := time.NewTimer(longest)
	defer late.Stop()
	select {
	case slots <- struct{}{}:
		defer func() { <-slots }()
	case <-late.C:
	case <-ctx.Done(): // open says so
	}
	began := processTime()
	defer func(others int32) {
		e.opened.Store(int64(processTime()-began) / int64(others)) // who else opens takes as much
		opens.Add(-1)
	}(opens.Add(1))
	return open()
}

// processTime returns the processor time of this process.
func processTime() time.Duration {
	var t unix.Timespec
	unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t) // every kernel has it
	return time.Duration(t.Nano())
}
