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
	own = free(t)
	p := runCollector(t, fmt.Sprintf(file, free(t), strings.Join(traces, ", "), ownTelemetry(own), "usdt"))
	eventually(t, "not all traces have events", func() bool {
		p.lives(t)
		for i := range 100 {
			sale.Fire("pear", int64(i), "")
			begin.Fire(1, "pear", "")
			done.Fire(1, true)
		}
		for i := range 20 {
			if events(own, "received", fmt.Sprint("t", i)) < 1000 {
				return false
			}
		}
		return true
	})
	with := p.peak(t)
	t.Logf("%d kB without traces, %d kB with twenty", without>>10, with>>10)
	if with-without > most {
		t.Errorf("twenty traces take %d kB, want at most %d", (with-without)>>10, most>>10)
	}
}
