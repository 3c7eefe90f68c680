package usdtreceiver

import (
	"context"
	"time"
)

// slots bound how many traces look for probes at a time: that takes the most memory of all that they
// do, for less than a second.
var slots = make(chan struct{}, 2)

// longest is how long one waits for others, which may look at files that never answer.
const longest = 5 * time.Second

// opening opens a session once there is a slot.
func opening[S any](ctx context.Context, open func() (S, error)) (S, error) {
	late := time.NewTimer(longest)
	defer late.Stop()
	select {
	case slots <- struct{}{}:
		defer func() { <-slots }()
	case <-late.C:
	case <-ctx.Done(): // open says so
	}
	return open()
}
