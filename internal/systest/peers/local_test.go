package peers

import (
	"context"
	"io"
	"log/slog"
	"runtime"
	"runtime/trace"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/provider"
)

// BenchmarkLocal measures what Fire costs a service whose events another process reads
// through shared memory: of three integers, and with a string of 16 bytes in place of
// one; by one goroutine and by two at once, each, in its time on a CPU; where the tracer does not read and the ring is full,
// and where a condition leaves the event out. Beside it: nobody watches; an empty BPF
// program; the flight recorder; JSON of log/slog to nowhere; messages of a runtime/trace
// that is discarded, the string alone and three integers; and, in C, tracepoints of
// LTTng-UST, which keeps the last events in memory as the flight recorder does.
func BenchmarkLocal(b *testing.B) {
	p := provider.New("peers", nil)
	probe := func(name string) *provider.Probe3[int, int, int] {
		return provider.NewProbe3[int, int, int](p, name, "a", "b", "c")
	}
	unwatched, empty, integers, full, rejected := probe("unwatched"), probe("empty"), probe("integers"), probe("full"), probe("rejected")
	text := provider.NewProbe3[int, string, int](p, "text", "a", "b", "c")
	recorded := probe("recorded")
	recorder := &provider.FlightRecorder{Dir: b.TempDir(), Probes: []string{"peers:recorded"}}
	if err := provider.LoadAll(&provider.Options{Local: true, FlightRecorder: recorder}); err != nil {
		b.Fatal(err)
	}
	defer provider.CloseAll()
	attachEmpty(b, "peers", "empty")
	stopIntegers := startTracer(b, "integers", "local", 0)
	stopText := startTracer(b, "text", "local", len(message))
	hold(b, "full", "")
	hold(b, "rejected", "a < 0")
	for range 1_000_000 {
		full.Fire(1, 2, 3)
	}

	fired, firedText := 0, 0
	fire := func(p *provider.Probe3[int, int, int]) func(int) {
		return func(n int) {
			for i := range n {
				p.Fire(i, i, i)
			}
		}
	}
	ctx := context.Background()
	log := slog.New(slog.NewJSONHandler(io.Discard, nil))
	discard := func() {
		if err := trace.Start(io.Discard); err != nil {
			b.Fatal(err)
		}
	}
	const n = 10_000
	all := []contender{
		{name: "unwatched", n: n, loop: fire(unwatched)},
		{name: "uprobe-empty", n: n, loop: fire(empty)},
		{name: "integers", n: n, loop: func(n int) {
			fired += n
			fire(integers)(n)
		}},
		{name: "text", n: n, loop: func(n int) {
			firedText += n
			for i := range n {
				text.Fire(i, message, i)
			}
		}},
		{name: "one-cpu", n: n, ns: func(n int) float64 {
			fired += n
			return onCPU(func() { fire(integers)(n) }) / float64(n)
		}},
		{name: "two-cpu", n: n, ns: func(n int) float64 {
			fired += 2 * n
			var there, took [2]atomic.Int64
			var both sync.WaitGroup
			for i := range 2 {
				both.Go(func() {
					there[i].Store(1)
					for there[1-i].Load() == 0 {
						runtime.Gosched()
					}
					took[i].Store(int64(onCPU(func() { fire(integers)(n) })))
				})
			}
			both.Wait()
			return float64(took[0].Load()+took[1].Load()) / float64(2*n)
		}},
		{name: "full", n: n, loop: fire(full)},
		{name: "rejected", n: n, loop: fire(rejected)},
		{name: "recorder", n: n, loop: fire(recorded)},
		{name: "slog-json", n: n / 4, loop: func(n int) {
			for i := range n {
				log.LogAttrs(ctx, slog.LevelInfo, "request", slog.Int("a", i), slog.String("b", message), slog.Int("c", i))
			}
		}},
		{name: "trace-text", n: n, on: discard, off: trace.Stop, loop: func(n int) {
			for range n {
				trace.Log(ctx, "request", message)
			}
		}},
		{name: "trace-integers", n: n, on: discard, off: trace.Stop, loop: func(n int) {
			for i := range n {
				trace.Logf(ctx, "request", "%d %d %d", i, i, i)
			}
		}},
	}
	if c := startLTTng(b); c != nil {
		all = append(all,
			contender{name: "lttng-integers", n: n, ns: func(n int) float64 { return c.run("integers", n) }},
			contender{name: "lttng-text", n: n, ns: func(n int) float64 { return c.run("text", n) }})
	}
	m := byTurns(b, 41, all)
	b.ReportMetric(m["uprobe-empty"]/m["integers"], "uprobe/integers")
	b.ReportMetric(m["text"]/m["integers"], "text/integers")
	b.ReportMetric(m["two-cpu"]/m["one-cpu"], "two/one")
	b.ReportMetric(m["full"]/m["integers"], "full/integers")
	b.ReportMetric(m["recorder"]/m["integers"], "recorder/integers")
	b.ReportMetric(m["rejected"]-m["unwatched"], "rejected-unwatched-ns")
	stopIntegers(fired)
	stopText(firedText)
}

// onCPU returns the time, in nanoseconds, for which the thread that calls f is on a CPU.
func onCPU(f func()) float64 {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	now := func() int64 {
		var t unix.Timespec
		// The kernel refuses only clocks that do not exist.
		unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t)
		return t.Nano()
	}
	begin := now()
	f()
	return float64(now() - begin)
}
