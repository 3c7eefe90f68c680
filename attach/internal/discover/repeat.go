package discover

import (
	"context"
	"time"
)

// rescanShare bounds the time spent on scans: each second of it is
// followed by this many seconds without.
const rescanShare = 20

// Repeat calls scan, and the function that it returns, at intervals until ctx is
// done. The time of that function does not count: attaching and detaching is
// waiting for the kernel.
func Repeat(ctx context.Context, every time.Duration, scan func() (then func())) {
	timer := time.NewTimer(every)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		start := time.Now()
		then := scan()
		took := time.Since(start)
		then()
		timer.Reset(max(every, rescanShare*took))
	}
}
