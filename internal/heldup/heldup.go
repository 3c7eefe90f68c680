// Package heldup reports calls that the kernel holds up, to whoever has asked for it by a context.
package heldup

import (
	"context"
	"sync"
	"time"
)

// after is how long a call may take, by a clock of this many ticks. A tick counts once, however late it
// comes: time in which this process stands still, since its machine does, is not the call's.
const (
	after = 2 * time.Second
	ticks = 20
)

type key struct{}

// With returns a context by which say is called with what takes long.
func With(ctx context.Context, say func(what string)) context.Context {
	return context.WithValue(ctx, key{}, say)
}

// Watch reports what, unless the function that it returns is called soon.
func Watch(ctx context.Context, what string) (done func()) {
	say, ok := ctx.Value(key{}).(func(string))
	if !ok {
		return func() {}
	}
	ended := make(chan struct{})
	go func() {
		tick := time.NewTicker(after / ticks)
		defer tick.Stop()
		for range ticks {
			select {
			case <-tick.C:
			case <-ended:
				return
			}
		}
		say(what)
	}()
	return sync.OnceFunc(func() { close(ended) })
}
