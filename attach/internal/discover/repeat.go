package discover

import (
	"context"
	"time"
)

// rescanShare bounds the time spent on looking for probes: for one second of
// it there are this many without.
const rescanShare = 20

// Repeat calls look at intervals, until ctx is done, and what it returns, whose
// time does not count: to attach and detach is to wait for the kernel.
func Repeat(ctx context.Context, every time.Duration, look func() (then func())) {
	timer := time.NewTimer(every)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		start := time.Now()
		then := look()
		took := time.Since(start)
		then()
		timer.Reset(max(every, rescanShare*took))
	}
}
