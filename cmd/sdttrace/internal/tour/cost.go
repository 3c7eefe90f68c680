package tour

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/demo"
	"github.com/go-usdt/usdt/internal/program"
)

// measureWatched says what the measured probe costs while it is watched: by a BPF
// program that does nothing, if the demo may attach one, and by a tracer that gets its
// events through shared memory.
func measureWatched(ctx context.Context, via attach.Via, hello demo.Hello) (string, error) {
	text := ""
	if via == attach.ViaKernel {
		a, err := program.AttachEmpty(hello.PID, "cost", "fire")
		if err != nil {
			return "", fmt.Errorf("watch the measured probe: %w", err)
		}
		cost, err := measureNow(ctx, hello)
		if err := errors.Join(err, a.Close()); err != nil {
			return "", err
		}
		text = nanos(cost) + " while a BPF program does, "
	}
	s, err := attach.Open(ctx, []string{"cost:fire"}, &attach.Options{Target: attach.Target{PIDs: []int{hello.PID}, Via: attach.ViaLocal}})
	if err != nil {
		return "", fmt.Errorf("watch the measured probe through shared memory: %w", err)
	}
	go func() {
		for range s.Views() {
			continue // the events are of no interest
		}
	}()
	cost, err := measureNow(ctx, hello)
	return text + "and " + nanos(cost) + " while a tracer does through shared memory", errors.Join(err, s.Close())
}

// measureNow measures the probe, which must be watched.
func measureNow(ctx context.Context, hello demo.Hello) (demo.Cost, error) {
	cost, err := measure(ctx, hello, 100_000)
	if err == nil && !cost.Watched {
		err = errors.New("the measured probe was not watched: its semaphore stayed 0")
	}
	return cost, err
}
