package sys

import (
	"time"

	"golang.org/x/sys/unix"
)

// ThreadTime returns the processor time that this thread has taken: clock_gettime(2). It means something
// to a goroutine that is locked to its thread.
func ThreadTime() time.Duration {
	var t unix.Timespec
	unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) // every kernel has it
	return time.Duration(t.Nano())
}
