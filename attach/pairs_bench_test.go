package attach_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/provider"
)

// BenchmarkPairs fires pairs, one in 10,000 of which is slow, as statements of a database
// with their text. It traces them as events, as events with their pairs, as slow pairs, as all pairs and as a latency. It
// reports what a pair costs the goroutine that fires it, what it costs this process, which
// both fires and traces, and how many events are delivered.
func BenchmarkPairs(b *testing.B) {
	p := provider.New("pairbench", nil)
	b.Cleanup(func() { p.Close() })
	begin := provider.NewProbe2[uint64, string](p, "begin", "id", "query")
	end := provider.NewProbe2[uint64, string](p, "end", "id", "query")
	if err := p.Load(); err != nil {
		b.Fatal(err)
	}
	const start, done = "pairbench:begin", "pairbench:end"
	opts := &attach.Options{Target: attach.Target{PIDs: []int{os.Getpid()}, Via: attach.ViaKernel}}
	query := "select abalance from pgbench_accounts where aid = 12345 and " + strings.Repeat("x", 60)
	type tracing interface {
		Stats() (attach.Stats, error)
		Stop() error
		Close() error
	}
	pairs := func(slower time.Duration) func() (tracing, func(), error) {
		return func() (tracing, func(), error) {
			s, err := attach.OpenPairs(b.Context(), start, done, &attach.PairOptions{Slower: slower, RingSize: 64 << 20}, opts)
			return s, func() {
				for range s.All() {
				}
			}, err
		}
	}
	for _, test := range []struct {
		name string
		open func() (tracing, func(), error)
	}{
		{"events", func() (tracing, func(), error) {
			s, err := attach.Open(b.Context(), []string{start, done}, opts)
			return s, func() {
				for range s.Events() {
				}
			}, err
		}},
		{"spans", func() (tracing, func(), error) {
			s, err := attach.OpenSpans(b.Context(), []string{start, done}, &attach.SpanOptions{Spans: []attach.Span{{Start: start, End: done}}, RingSize: 64 << 20}, opts)
			return s, func() {
				for range s.All() {
				}
			}, err
		}},
		{"slow", pairs(time.Millisecond)},
		{"all", pairs(0)},
		{"latency", func() (tracing, func(), error) {
			l, err := attach.OpenLatency(b.Context(), start, done, nil, &attach.Options{Target: opts.Target})
			return l, func() {}, err
		}},
	} {
		b.Run(test.name, func(b *testing.B) {
			s, read, err := test.open()
			if err != nil {
				needPrivileges(b, err)
				b.Fatal(err)
			}
			defer s.Close()
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				read()
			}()
			cpu := cpuTime(b)
			b.ResetTimer()
			for i := range b.N {
				begin.Fire(uint64(i), query)
				if i%10000 == 0 {
					b.StopTimer()
					time.Sleep(2 * time.Millisecond)
					b.StartTimer()
				}
				end.Fire(uint64(i), query)
			}
			b.StopTimer()
			if err := s.Stop(); err != nil {
				b.Fatal(err)
			}
			<-ended
			used := cpuTime(b) - cpu
			st, err := s.Stats()
			if err != nil || st.Fired != 2*uint64(b.N) {
				b.Errorf("stats %+v, error %v, want %d fired", st, err, 2*b.N)
			}
			b.ReportMetric(float64(used.Nanoseconds())/float64(b.N), "cpu-ns/pair")
			if test.name != "latency" {
				b.ReportMetric(float64(st.Received+st.Lost)/float64(b.N), "events/pair")
			}
		})
	}
}

// cpuTime returns the time that the process has been running on CPUs.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var r unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
