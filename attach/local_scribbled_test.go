package attach_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach"
)

// TestLocalScribbled calls all methods of what traces, each in a goroutine of its own, while
// one of two processes writes over the memory that it shares. None waits for ever, and the
// events of the other process arrive.
func TestLocalScribbled(t *testing.T) {
	if testing.Short() {
		t.Skip("short: no kernel makes a difference to what messages say")
	}
	for _, kind := range []string{"session", "aggregate", "latency", "pairs"} {
		t.Run(kind, func(t *testing.T) {
			t.Setenv("USDT_LOCAL", "1")
			healthy := startChild(t, "typed")
			t.Setenv("USDT_LOCAL", "")
			hostile := startChild(t, "localhostile") // which offers its probes itself
			healthy.Do("load")
			hostile.Do("scribbles")
			o := &attach.Options{Target: attach.Target{PIDs: []int{healthy.PID(), hostile.PID()}, Via: attach.ViaLocal}}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			selectors := []string{"localhostile:*", "typed:bare"}
			var traces interface {
				Stop() error
				Close() error
				Stats() (attach.Stats, error)
			}
			var err error
			switch kind {
			case "session":
				traces, err = attach.Open(ctx, selectors, o)
			case "aggregate":
				traces, err = attach.OpenAggregate(ctx, selectors, attach.Count(), o)
			case "latency":
				traces, err = attach.OpenLatency(ctx, "*:text", "*:*re*", nil, o)
			case "pairs":
				traces, err = attach.OpenPairs(ctx, "*:text", "*:*re*", nil, o)
			}
			if err != nil {
				t.Fatal(err)
			}
			reading, end := context.WithCancel(ctx)
			var calls sync.WaitGroup
			for _, call := range attach.Methods(reading, traces) {
				if call.Name == "Stop" || call.Name == "Close" {
					continue
				}
				calls.Go(func() {
					for reading.Err() == nil {
						call.Do()
						time.Sleep(100 * time.Microsecond)
					}
				})
			}
			inTime(t, "what the healthy process fires", time.Minute, func() {
				fired := uint64(0)
				for until := time.Now().Add(hostileTime); time.Now().Before(until); fired++ {
					healthy.Do("bare")
				}
				for {
					st, err := traces.Stats()
					if err != nil {
						t.Error(err)
					}
					if err != nil || kind == "latency" || kind == "pairs" || st.Received >= fired {
						return
					}
					time.Sleep(time.Millisecond)
				}
			})
			end()
			inTime(t, "the end", time.Minute, func() {
				if err := traces.Stop(); err != nil {
					t.Log(err)
				}
				calls.Wait()
				if err := traces.Close(); err != nil {
					t.Log(err)
				}
			})
			checkSum(t, traces)
		})
	}
}
