package usdtreceiver_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

// backend is the collector's own receiver of OTLP at an address, and what it has received. It can
// be stalled: then no request is answered.
type backend struct {
	addr    string
	stalled atomic.Pointer[chan struct{}]
	running []component.Component

	mu     sync.Mutex
	logs   map[int64]plog.LogRecord // by cents, since a request whose answer was lost is sent again
	spans  map[string]ptrace.Span   // by item
	counts map[string]int64
}

// serve starts to receive.
func (b *backend) serve(t *testing.T) {
	t.Helper()
	f := otlpreceiver.NewFactory()
	cfg := f.CreateDefaultConfig()
	conf := confmap.NewFromStringMap(map[string]any{"protocols": map[string]any{"grpc": map[string]any{"endpoint": b.addr}}})
	if err := conf.Unmarshal(cfg); err != nil {
		t.Fatal(err)
	}
	set := receivertest.NewNopSettings(f.Type())
	logs, err1 := consumer.NewLogs(b.consumeLogs)
	spans, err2 := consumer.NewTraces(b.consumeTraces)
	metrics, err3 := consumer.NewMetrics(b.consumeMetrics)
	if err1 != nil || err2 != nil || err3 != nil {
		t.Fatal(err1, err2, err3)
	}
	l, err1 := f.CreateLogs(t.Context(), set, cfg, logs)
	s, err2 := f.CreateTraces(t.Context(), set, cfg, spans)
	m, err3 := f.CreateMetrics(t.Context(), set, cfg, metrics)
	if err1 != nil || err2 != nil || err3 != nil {
		t.Fatal(err1, err2, err3)
	}
	b.running = []component.Component{l, s, m}
	for _, r := range b.running {
		if err := r.Start(t.Context(), componenttest.NewNopHost()); err != nil {
			t.Fatal(err)
		}
	}
}

// close ends receiving. Connections are cut.
func (b *backend) close(t *testing.T) {
	t.Helper()
	for _, r := range b.running {
		if err := r.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	}
	b.running = nil
}

// stall stops answering until the returned function is called.
func (b *backend) stall() (resume func()) {
	c := make(chan struct{})
	b.stalled.Store(&c)
	return sync.OnceFunc(func() {
		b.stalled.Store(nil)
		close(c)
	})
}

// wait waits while the backend is stalled.
func (b *backend) wait(ctx context.Context) error {
	if c := b.stalled.Load(); c != nil {
		select {
		case <-*c:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (b *backend) consumeLogs(ctx context.Context, all plog.Logs) error {
	if err := b.wait(ctx); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	eachLog([]plog.Logs{all}, func(_ plog.ResourceLogs, _ plog.ScopeLogs, l plog.LogRecord) {
		cents, _ := l.Attributes().Get("cents")
		b.logs[cents.Int()] = l
	})
	return nil
}

func (b *backend) consumeTraces(ctx context.Context, all ptrace.Traces) error {
	if err := b.wait(ctx); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	eachSpan([]ptrace.Traces{all}, func(s ptrace.Span) {
		item, _ := s.Attributes().Get("item")
		b.spans[item.Str()] = s
	})
	return nil
}

func (b *backend) consumeMetrics(ctx context.Context, all pmetric.Metrics) error {
	if err := b.wait(ctx); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	counts, _, _ := numbers([]pmetric.Metrics{all}, "otelshop.sale.count", "item")
	for item, n := range counts {
		b.counts[item] = n
	}
	return nil
}

// got returns how many different log records have come.
func (b *backend) got() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return int64(len(b.logs))
}

// has reports whether the log record of a sale has come.
func (b *backend) has(cents int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, ok := b.logs[cents]
	return ok
}

// TestOutages has the built collector send all signals to another's receiver of OTLP. The spans are
// children of spans of the OpenTelemetry SDK in this program. Then the receiver stalls, is
// closed and opened again, the collector stands still, is killed and started again, all while this
// program fires: it never waits, and each event is either there or counted as left out.
func TestOutages(t *testing.T) {
	needs.Root(t)
	b := &backend{addr: free(t), logs: map[int64]plog.LogRecord{}, spans: map[string]ptrace.Span{}, counts: map[string]int64{}}
	b.serve(t)
	defer func() { b.close(t) }()
	own := free(t)
	const queue = `{endpoint: %q, tls: {insecure: true}, timeout: 2s, sending_queue: {queue_size: 20, num_consumers: 2}, retry_on_failure: {initial_interval: 20ms, max_interval: 200ms, max_elapsed_time: 0}}`
	config := fmt.Sprintf(`
receivers:
  usdt:
    traces:
      - name: sales
        probes: ["otelshop:sale"]
        target: {pids: [%[1]d]}
        max_events_per_second: 1000000
        logs: {parent: traceparent}
      - probes: ["otelshop:sale"]
        target: {pids: [%[1]d]}
        metrics: {by: [item], interval: 100ms}
      - target: {pids: [%[1]d]}
        spans: {start: "otelshop:begin", end: "otelshop:done", key: [id], parent: traceparent}
processors: {memory_limiter: {check_interval: 100ms, limit_mib: 150, spike_limit_mib: 30}}
exporters: {otlp_grpc: `+fmt.Sprintf(queue, b.addr)+`}
service:
  telemetry: %[2]s
  pipelines:
    metrics: {receivers: [usdt], processors: [memory_limiter], exporters: [otlp_grpc]}
    logs: {receivers: [usdt], processors: [memory_limiter], exporters: [otlp_grpc]}
    traces: {receivers: [usdt], processors: [memory_limiter], exporters: [otlp_grpc]}
`, os.Getpid(), ownTelemetry(own))
	var fired int64 // sales, each with other cents
	fire := func(item string, n int) {
		for range n {
			fired++
			sale.Fire(item, fired, "")
		}
	}
	p := runCollector(t, config)
	// arrives waits until new events arrive.
	arrives := func(what string) {
		t.Helper()
		eventually(t, what, func() bool {
			p.lives(t)
			fire("probe", 1)
			return b.has(fired - 1)
		})
	}
	arrives("no log record arrives")
	eventually(t, "no metric arrives", func() bool { b.mu.Lock(); defer b.mu.Unlock(); return b.counts["probe"] > 0 })
	// balanced waits until each event of the sessions since the collector began is accounted for.
	balanced := func(before, events0 int64) map[string]int64 {
		t.Helper()
		var o map[string]int64
		eventually(t, "events are not accounted for", func() bool {
			o = map[string]int64{}
			for _, outcome := range []string{"fired", "received", "lost", "filtered", "missed", "refused", "over_budget"} {
				if o[outcome] = events(own, outcome, "sales"); o[outcome] < 0 {
					return false
				}
			}
			return o["fired"] == o["received"]+o["lost"]+o["filtered"]+o["missed"] && o["fired"]-events0 == fired-before &&
				o["received"]-o["refused"]-o["over_budget"] == b.got()
		})
		t.Logf("%d events: %v, %d arrived", fired, o, b.got())
		return o
	}
	events0 := events(own, "fired", "sales")
	before := fired

	t.Log("A span of the SDK is the parent of the span of a pair.")
	spans := tracetest.NewInMemoryExporter()
	sdk := trace.NewTracerProvider(trace.WithSyncer(spans))
	ctx, span := sdk.Tracer("shop").Start(t.Context(), "order")
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	eventually(t, "no span arrives", func() bool {
		begin.Fire(7, "joined", carrier["traceparent"])
		done.Fire(7, true)
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.spans["joined"] != ptrace.Span{}
	})
	fired++
	sale.Fire("joined", fired, carrier["traceparent"])
	eventually(t, "its log record does not arrive", func() bool { return b.has(fired) })
	span.End()
	b.mu.Lock()
	ours, log, parent := b.spans["joined"], b.logs[fired], spans.GetSpans()[0]
	b.mu.Unlock()
	if ours.TraceID().String() != parent.SpanContext.TraceID().String() || ours.ParentSpanID().String() != parent.SpanContext.SpanID().String() || ours.SpanID().IsEmpty() ||
		log.TraceID() != ours.TraceID() || log.SpanID() != ours.ParentSpanID() {
		t.Errorf("span of trace %s with parent %s, record of trace %s, span %s; the SDK has %v", ours.TraceID(), ours.ParentSpanID(), log.TraceID(), log.SpanID(), parent.SpanContext)
	}
	const slack = 50 * time.Millisecond // of the clocks
	if from, to := ours.StartTimestamp().AsTime(), ours.EndTimestamp().AsTime(); from.Before(parent.StartTime.Add(-slack)) || to.After(parent.EndTime.Add(slack)) {
		t.Errorf("span from %v to %v, the parent is from %v to %v", from, to, parent.StartTime, parent.EndTime)
	}

	t.Log("The receiver stalls.")
	long := strings.Repeat("x", 1000)
	resume := b.stall()
	defer resume()
	const burst = 25_000 // more than the kernel's buffer and the queues hold
	fire(long, burst)
	eventually(t, "nothing is lost", func() bool { return events(own, "lost", "sales") > 0 })
	resume()
	arrives("nothing arrives after the receiver has stalled")
	if o := balanced(before, events0); o["lost"] == 0 {
		t.Errorf("nothing is lost: %v", o)
	}

	t.Log("The receiver is closed and opened again.")
	b.close(t)
	fire("closed", 2000)
	b.serve(t)
	arrives("nothing arrives after the receiver was closed")
	balanced(before, events0)

	t.Log("The collector stands still.")
	p.signal(t, syscall.SIGSTOP)
	fire(long, burst)
	p.signal(t, syscall.SIGCONT)
	arrives("nothing arrives after the collector has stood still")
	balanced(before, events0)
	if peak := p.peak(t); peak > 200<<20 {
		t.Errorf("the collector had %d MiB", peak>>20)
	} else {
		t.Logf("the collector had %d MiB at most", peak>>20)
	}

	t.Log("The collector is killed under load, and started again.")
	p.signal(t, syscall.SIGKILL)
	fire(long, burst)
	<-p.ended
	eventually(t, "the probe still counts somebody who attached", func() bool { fire("killed", 1); return !sale.Enabled() })
	p = runCollector(t, config)
	arrives("nothing arrives after the collector was killed")
	p.signal(t, syscall.SIGTERM)
	if <-p.ended; p.err != nil {
		t.Errorf("the collector ended: %v", p.err)
	}
}
