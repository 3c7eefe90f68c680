package usdtreceiver_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestMemory compares the most memory that a collector with twenty traces takes with that of one
// without: docs/fleet.md says how much more it may be.
func TestMemory(t *testing.T) {
	needs.Root(t)
	// Where a collector waits for a processor, its heap grows while garbage is collected beside it.
	t.Setenv("GODEBUG", "gcstoptheworld=1")
	const most = 60 << 20
	const file = `
receivers: {otlp: {protocols: {grpc: {endpoint: %q}}}, usdt: {traces: [%s]}}
exporters: {debug: {}}
service:
  telemetry: %s
  pipelines:
    metrics: {receivers: [%[4]s], exporters: [debug]}
    logs: {receivers: [%[4]s], exporters: [debug]}
    traces: {receivers: [%[4]s], exporters: [debug]}
`
	own := free(t)
	none := runCollector(t, fmt.Sprintf(file, free(t), `{probes: ["otelshop:sale"], metrics: {}}`, ownTelemetry(own), "otlp"))
	eventually(t, "the collector does not answer", func() bool { none.lives(t); _, ok := get("http://" + own + "/metrics"); return ok })
	without := none.peak(t)

	var traces []string
	for i := range 20 {
		what := []string{
			`probes: ["otelshop:sale"], logs: {}`,
			`spans: {start: "otelshop:begin", end: "otelshop:done", key: [id]}`,
			`metrics: {start: "otelshop:begin", end: "otelshop:done", key: [id], by: [item], scale: 2, interval: 100ms}`,
			`probes: ["otelshop:sale"], metrics: {value: cents, show: [histogram], by: [item], interval: 100ms}`,
		}[i%4]
		traces = append(traces, fmt.Sprintf("{name: t%d, target: {pids: [%d]}, %s}", i, os.Getpid(), what))
	}
	// A collector that waits for a processor opens more traces at once and gets larger pieces of what they
	// send: the least of three runs is what twenty traces take.
	for run := 1; ; run++ {
		var with int64
		t.Run(fmt.Sprint(run), func(t *testing.T) { with = peakOfTwenty(t, file, traces) })
		t.Logf("%d kB without traces, %d kB with twenty", without>>10, with>>10)
		if with-without <= most || t.Failed() {
			return
		}
		if run == 3 {
			t.Fatalf("twenty traces take %d kB, want at most %d", (with-without)>>10, most>>10)
		}
	}
}

// peakOfTwenty returns the most memory that a collector with traces takes until each has received a
// thousand events.
func peakOfTwenty(t *testing.T, file string, traces []string) int64 {
	t.Helper()
	own := free(t)
	p := runCollector(t, fmt.Sprintf(file, free(t), strings.Join(traces, ", "), ownTelemetry(own), "usdt"))
	fire := func(events int) {
		for i := range events {
			sale.Fire("pear", int64(i), "")
			begin.Fire(1, "pear", "")
			done.Fire(1, true)
		}
	}
	// received reports whether each trace has received so many events.
	received := func(least func(trace int) int64) bool {
		for i := range traces {
			if events(own, "received", fmt.Sprint("t", i)) < least(i) {
				return false
			}
		}
		return true
	}
	eventually(t, "not all traces have events", func() bool {
		p.lives(t)
		fire(1)
		return received(func(int) int64 { return 1 })
	})
	// Each piece has a hundred events at most.
	for range 10 {
		before := map[int]int64{}
		for i := range traces {
			before[i] = events(own, "received", fmt.Sprint("t", i))
		}
		fire(100)
		eventually(t, "not all traces have a hundred events more", func() bool {
			p.lives(t)
			return received(func(trace int) int64 { return before[trace] + 100 })
		})
	}
	return p.peak(t)
}
