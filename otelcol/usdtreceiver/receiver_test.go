package usdtreceiver_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pipeline"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.uber.org/goleak"

	"github.com/go-usdt/usdt/internal/systest/bpf"
	"github.com/go-usdt/usdt/internal/systest/leftover"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/otelcol/usdtreceiver"
	"github.com/go-usdt/usdt/provider"
)

// The probes of the program that is traced, which is this one.
var (
	shop  = provider.New("otelshop", nil)
	sale  = provider.NewProbe3[string, int64, string](shop, "sale", "item", "cents", "traceparent")
	begin = provider.NewProbe3[uint64, string, string](shop, "begin", "id", "item", "traceparent")
	done  = provider.NewProbe2[uint64, bool](shop, "done", "id", "ok")
	mark  = provider.NewProbe1[string](shop, "mark", receivertest.UniqueIDAttrName)
	ended = provider.NewProbe0(shop, "ended")
)

func TestMain(m *testing.M) {
	if err := provider.LoadAll(nil); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	provider.CloseAll()
	os.Exit(code)
}

const patience = 2 * time.Minute

// eventually waits until f is true.
func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !f(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after %v: %s", patience, what)
		}
	}
}

// here is this process.
func here() usdtreceiver.Target { return usdtreceiver.Target{PIDs: []int{os.Getpid()}} }

// start starts a receiver, and returns when it has attached to so many more sites. stop returns
// when it has handed on all that it had.
func start(t *testing.T, links int, tel *componenttest.Telemetry, create func(receiver.Settings) (component.Component, error)) (stop func()) {
	t.Helper()
	needs.Root(t)
	before, open, goroutines := len(bpf.OwnLinks(t)), leftover.Descriptors(t), goleak.IgnoreCurrent()
	set := receivertest.NewNopSettings(usdtreceiver.Type)
	if tel != nil {
		set.TelemetrySettings = tel.NewTelemetrySettings()
	}
	r, err := create(set)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Start(t.Context(), componenttest.NewNopHost()); err != nil {
		t.Fatal(err)
	}
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		if err := r.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		leftover.Back(t, open)
		eventually(t, "goroutines are left", func() bool { return goleak.Find(goroutines) == nil })
	}
	t.Cleanup(stop)
	eventually(t, "the receiver has not attached", func() bool { return len(bpf.OwnLinks(t)) >= before+links })
	return stop
}

// outcomes returns what the collector's own telemetry says of the events of a trace.
func outcomes(t *testing.T, tel *componenttest.Telemetry, trace string) map[string]int64 {
	t.Helper()
	m, err := tel.GetMetric("otelcol_usdt_events")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]int64{}
	for _, p := range m.Data.(metricdata.Sum[int64]).DataPoints {
		signal, _ := p.Attributes.Value("signal")
		if name, _ := p.Attributes.Value("trace"); name.AsString() == trace && signal.AsString() != "" {
			outcome, _ := p.Attributes.Value("outcome")
			out[outcome.AsString()] = p.Value
		}
	}
	return out
}

// fired waits until telemetry says that a trace has seen so many events.
func fired(t *testing.T, tel *componenttest.Telemetry, trace string, n int64) {
	t.Helper()
	eventually(t, "telemetry does not count what has fired", func() bool { return outcomes(t, tel, trace)["fired"] == n })
}

func config(traces ...usdtreceiver.Trace) *usdtreceiver.Config {
	return &usdtreceiver.Config{Traces: traces}
}

// points returns the points of the newest metric of a name, by the value of an attribute.
func numbers(all []pmetric.Metrics, name, attribute string) (sum map[string]int64, scope string, resource pcommon.Map) {
	sum = map[string]int64{}
	each(all, name, func(r pmetric.ResourceMetrics, s pmetric.ScopeMetrics, m pmetric.Metric) {
		scope, resource = s.Scope().Name(), r.Resource().Attributes()
		points := m.Gauge().DataPoints
		delta := false
		if m.Type() == pmetric.MetricTypeSum {
			points = m.Sum().DataPoints
			delta = m.Sum().AggregationTemporality() == pmetric.AggregationTemporalityDelta
		}
		for i := range points().Len() {
			p := points().At(i)
			key := ""
			if v, ok := p.Attributes().Get(attribute); ok {
				key = v.AsString()
			}
			if delta {
				sum[key] += p.IntValue()
			} else {
				sum[key] = p.IntValue()
			}
		}
	})
	return sum, scope, resource
}

func each(all []pmetric.Metrics, name string, f func(pmetric.ResourceMetrics, pmetric.ScopeMetrics, pmetric.Metric)) {
	for _, one := range all {
		for i := range one.ResourceMetrics().Len() {
			r := one.ResourceMetrics().At(i)
			for j := range r.ScopeMetrics().Len() {
				s := r.ScopeMetrics().At(j)
				for k := range s.Metrics().Len() {
					if m := s.Metrics().At(k); m.Name() == name {
						f(r, s, m)
					}
				}
			}
		}
	}
}

// TestMetrics compares metrics with what the program counted itself.
func TestMetrics(t *testing.T) {
	for _, temporality := range []string{"cumulative", "delta"} {
		t.Run(temporality, func(t *testing.T) {
			sink := &consumertest.MetricsSink{}
			tel := componenttest.NewTelemetry()
			stop := start(t, 1, tel, func(set receiver.Settings) (component.Component, error) {
				return usdtreceiver.NewFactory().CreateMetrics(t.Context(), set, config(usdtreceiver.Trace{
					Probes: []string{"otelshop:sale"}, Target: here(), Where: "cents != 666",
					Metrics: &usdtreceiver.Metrics{Value: "cents", Show: []string{"sum", "min", "max", "histogram"}, By: []string{"item"}, Interval: 20 * time.Millisecond, Temporality: temporality, Process: true, Unit: "cent"},
				}), sink)
			})
			var count, sum atomic.Int64
			for i := range 500 {
				sale.Fire("apple", int64(i), "")
				sale.Fire("pear", 1000, "")
				sale.Fire("pear", 666, "")
				count.Add(1)
				sum.Add(int64(i))
			}
			fired(t, tel, "otelshop:sale", 1500)
			stop()
			all := sink.AllMetrics()
			counts, scope, resource := numbers(all, "otelshop.sale.count", "item")
			if counts["apple"] != count.Load() || counts["pear"] != count.Load() || len(counts) != 2 || scope != "otelshop" {
				t.Errorf("counts %v, scope %q, want %d of each", counts, scope, count.Load())
			}
			if pid, _ := resource.Get("process.pid"); pid.Int() != int64(os.Getpid()) {
				t.Errorf("resource %v, want process %d", resource.AsRaw(), os.Getpid())
			}
			exe, _ := os.Executable()
			if name, _ := resource.Get("process.executable.name"); name.Str() != filepath.Base(exe) {
				t.Errorf("resource %v, want %s", resource.AsRaw(), exe)
			}
			if sums, _, _ := numbers(all, "otelshop.sale.sum", "item"); sums["apple"] != sum.Load() || sums["pear"] != 1000*count.Load() {
				t.Errorf("sums %v, want %d", sums, sum.Load())
			}
			if most, _, _ := numbers(all, "otelshop.sale.max", "item"); most["apple"] != 499 || most["pear"] != 1000 {
				t.Errorf("greatest %v", most)
			}
			buckets := map[string]map[int]uint64{}
			each(all, "otelshop.sale.histogram", func(_ pmetric.ResourceMetrics, _ pmetric.ScopeMetrics, m pmetric.Metric) {
				h := m.ExponentialHistogram()
				if m.Unit() != "cent" {
					t.Errorf("unit %q", m.Unit())
				}
				for i := range h.DataPoints().Len() {
					p := h.DataPoints().At(i)
					item, _ := p.Attributes().Get("item")
					if buckets[item.Str()] == nil || temporality == "cumulative" {
						buckets[item.Str()] = map[int]uint64{}
					}
					b := buckets[item.Str()]
					b[-1] += p.ZeroCount()
					for j := range p.Positive().BucketCounts().Len() {
						b[j+int(p.Positive().Offset())] += p.Positive().BucketCounts().At(j)
					}
					if p.Scale() != 0 {
						t.Errorf("scale %d", p.Scale())
					}
				}
			})
			want := "map[apple:map[-1:1 0:1 1:2 2:4 3:8 4:16 5:32 6:64 7:128 8:244] pear:map[-1:0 9:500]]"
			if got := fmt.Sprint(buckets); got != want {
				t.Errorf("buckets %s, want %s", got, want)
			}
		})
	}
}

// TestBeyondMaxGroups checks that groups beyond the bound are added up, and nothing is lost.
func TestBeyondMaxGroups(t *testing.T) {
	sink := &consumertest.MetricsSink{}
	tel := componenttest.NewTelemetry()
	stop := start(t, 1, tel, func(set receiver.Settings) (component.Component, error) {
		return usdtreceiver.NewFactory().CreateMetrics(t.Context(), set, config(usdtreceiver.Trace{
			Name: "sales", Probes: []string{"otelshop:sale"}, Target: here(), Metrics: &usdtreceiver.Metrics{By: []string{"item"}, MaxGroups: 3, Interval: time.Hour},
		}), sink)
	})
	for i := range 100 {
		sale.Fire(fmt.Sprint(i%10), 1, "")
	}
	fired(t, tel, "sales", 100)
	stop()
	counts, _, _ := numbers(sink.AllMetrics(), "sales.count", "item")
	sum := int64(0)
	for _, n := range counts {
		sum += n
	}
	if sum != 100 || counts["(other)"] == 0 || len(counts) > 4 {
		t.Errorf("counts %v, want 3 groups and (other), 100 in all", counts)
	}
}

// TestLatencyOfAll counts pairs that have no groups.
func TestLatencyOfAll(t *testing.T) {
	sink := &consumertest.MetricsSink{}
	start(t, 1, nil, func(set receiver.Settings) (component.Component, error) {
		return usdtreceiver.NewFactory().CreateMetrics(t.Context(), set, config(usdtreceiver.Trace{
			Name: "all", Target: here(), Metrics: &usdtreceiver.Metrics{Start: "otelshop:begin", End: "otelshop:done", Interval: 20 * time.Millisecond},
		}), sink)
	})
	eventually(t, "no pair is counted", func() bool {
		begin.Fire(1, "", "")
		done.Fire(1, true)
		counts, _, _ := numbers(sink.AllMetrics(), "all.count", "item")
		return counts[""] > 0
	})
}

// TestLatency compares the number of pairs and their groups.
func TestLatency(t *testing.T) {
	sink := &consumertest.MetricsSink{}
	start(t, 1, nil, func(set receiver.Settings) (component.Component, error) {
		return usdtreceiver.NewFactory().CreateMetrics(t.Context(), set, config(usdtreceiver.Trace{
			Target: here(), Metrics: &usdtreceiver.Metrics{Start: "otelshop:begin", End: "otelshop:done", Key: []string{"id"}, By: []string{"item"}, Interval: 20 * time.Millisecond},
		}), sink)
	})
	counted := func(item string) int64 {
		counts, _, _ := numbers(sink.AllMetrics(), "otelshop.begin.count", "item")
		return counts[item]
	}
	fire := func(id uint64, item string) {
		begin.Fire(id, item, "")
		done.Fire(id, true)
	}
	eventually(t, "no pair is counted", func() bool { fire(1, "first"); return counted("first") > 0 })
	for i := range uint64(200) {
		fire(i, "then")
	}
	eventually(t, "the pairs are not counted", func() bool { return counted("then") >= 200 })
	if n := counted("then"); n != 200 {
		t.Errorf("%d pairs, want 200", n)
	}
	least, _, _ := numbers(sink.AllMetrics(), "otelshop.begin.min", "item")
	if most, _, _ := numbers(sink.AllMetrics(), "otelshop.begin.max", "item"); least["then"] <= 0 || most["then"] < least["then"] {
		t.Errorf("from %d to %d ns", least["then"], most["then"])
	}
}

const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// TestLogs checks that each event is a record, with its arguments and its parent.
func TestLogs(t *testing.T) {
	sink := &consumertest.LogsSink{}
	tel := componenttest.NewTelemetry()
	stop := start(t, 1, tel, func(set receiver.Settings) (component.Component, error) {
		return usdtreceiver.NewFactory().CreateLogs(t.Context(), set, config(usdtreceiver.Trace{
			Probes: []string{"otelshop:sale"}, Target: here(), MaxEventsPerSecond: 1e6, Where: `item != "none"`, Logs: &usdtreceiver.Logs{Parent: "traceparent"},
		}), sink)
	})
	for i := range 2000 {
		sale.Fire("plum", int64(i), parent)
		sale.Fire("none", 0, "")
	}
	eventually(t, "records are missing", func() bool { return sink.LogRecordCount() >= 2000 })
	if o := outcomes(t, tel, "otelshop:sale"); o["fired"] != 4000 || o["filtered"] != 2000 || o["received"] != 2000 || o["lost"]+o["over_budget"]+o["refused"] != 0 {
		t.Errorf("telemetry says %v", o)
	}
	stop()
	cents := map[int64]bool{}
	eachLog(sink.AllLogs(), func(r plog.ResourceLogs, s plog.ScopeLogs, l plog.LogRecord) {
		a := l.Attributes().AsRaw()
		pid, _ := r.Resource().Attributes().Get("process.pid")
		if l.EventName() != "otelshop.sale" || s.Scope().Name() != "otelshop" || a["item"] != "plum" || pid.Int() != int64(os.Getpid()) ||
			l.TraceID().String() != parent[3:35] || l.SpanID().String() != parent[36:52] || time.Since(l.Timestamp().AsTime()) > time.Hour {
			t.Fatalf("record %s of %s: %v, trace %s, span %s", l.EventName(), s.Scope().Name(), a, l.TraceID(), l.SpanID())
		}
		cents[a["cents"].(int64)] = true
	})
	if len(cents) != 2000 {
		t.Errorf("%d different events, want 2000", len(cents))
	}
}

func eachLog(all []plog.Logs, f func(plog.ResourceLogs, plog.ScopeLogs, plog.LogRecord)) {
	for _, one := range all {
		for i := range one.ResourceLogs().Len() {
			r := one.ResourceLogs().At(i)
			for j := range r.ScopeLogs().Len() {
				s := r.ScopeLogs().At(j)
				for k := range s.LogRecords().Len() {
					f(r, s, s.LogRecords().At(k))
				}
			}
		}
	}
}

// TestBudget checks that events beyond the budget are left out and counted, and that a trace which
// fails does not stop another.
func TestBudget(t *testing.T) {
	sink := &consumertest.LogsSink{}
	tel := componenttest.NewTelemetry()
	start(t, 1, tel, func(set receiver.Settings) (component.Component, error) {
		return usdtreceiver.NewFactory().CreateLogs(t.Context(), set, config(
			usdtreceiver.Trace{Probes: []string{"otelshop:sale"}, Target: here(), Where: "nothing_of_that_name > 1", Logs: &usdtreceiver.Logs{}},
			usdtreceiver.Trace{Name: "few", Probes: []string{"otelshop:sale"}, Target: here(), MaxEventsPerSecond: 10, Logs: &usdtreceiver.Logs{}},
		), sink)
	})
	const fired = 500 // not so many that the trace is suspended
	for i := range fired {
		sale.Fire("fig", int64(i), "")
	}
	var o map[string]int64
	eventually(t, "events are not accounted for", func() bool {
		o = outcomes(t, tel, "few")
		return int64(sink.LogRecordCount())+o["over_budget"]+o["lost"] == fired
	})
	if o["fired"] != fired || o["over_budget"] == 0 || sink.LogRecordCount() < 10 {
		t.Errorf("%d records, telemetry says %v", sink.LogRecordCount(), o)
	}
}

// TestSpans checks that each pair is a span, with the arguments of both and its parent.
func TestSpans(t *testing.T) {
	sink := &consumertest.TracesSink{}
	stop := start(t, 1, nil, func(set receiver.Settings) (component.Component, error) {
		return usdtreceiver.NewFactory().CreateTraces(t.Context(), set, config(usdtreceiver.Trace{
			Name: "order", Target: here(), MaxEventsPerSecond: 1e6, Spans: &usdtreceiver.Spans{Start: "otelshop:begin", End: "otelshop:done", Key: []string{"id"}, Parent: "traceparent"},
		}), sink)
	})
	fire := func(id uint64, item, parent string) {
		begin.Fire(id, item, parent)
		done.Fire(id, true)
	}
	eventually(t, "there is no span", func() bool { fire(1, "first", ""); return sink.SpanCount() > 0 })
	for i := range uint64(300) {
		fire(i, "then", parent)
	}
	spans := func(item string) (out []ptrace.Span) {
		eachSpan(sink.AllTraces(), func(s ptrace.Span) {
			if v, _ := s.Attributes().Get("item"); v.Str() == item {
				out = append(out, s)
			}
		})
		return out
	}
	eventually(t, "spans are missing", func() bool { return len(spans("then")) >= 300 })
	stop()
	ids := map[pcommon.SpanID]bool{}
	for _, s := range spans("then") {
		a := s.Attributes().AsRaw()
		if s.Name() != "order" || a["ok"] != true || s.TraceID().String() != parent[3:35] || s.ParentSpanID().String() != parent[36:52] || s.EndTimestamp() < s.StartTimestamp() || s.StartTimestamp() == 0 {
			t.Fatalf("span %s: %v, trace %s, parent %s", s.Name(), a, s.TraceID(), s.ParentSpanID())
		}
		ids[s.SpanID()] = true
	}
	if len(ids) != 300 {
		t.Errorf("%d different spans, want 300", len(ids))
	}
	for _, s := range spans("first") {
		if s.TraceID().IsEmpty() || s.SpanID().IsEmpty() || !s.ParentSpanID().IsEmpty() {
			t.Errorf("a span without a parent: trace %s, span %s, parent %s", s.TraceID(), s.SpanID(), s.ParentSpanID())
		}
	}
}

func eachSpan(all []ptrace.Traces, f func(ptrace.Span)) {
	for _, one := range all {
		for i := range one.ResourceSpans().Len() {
			for j := range one.ResourceSpans().At(i).ScopeSpans().Len() {
				spans := one.ResourceSpans().At(i).ScopeSpans().At(j).Spans()
				for k := range spans.Len() {
					f(spans.At(k))
				}
			}
		}
	}
}

// generator fires the probes whose events the collector's checks count.
type generator struct {
	t   *testing.T
	tel *componenttest.Telemetry
	n   atomic.Int64
}

// Start fires what becomes nothing, until it is counted.
func (g *generator) Start() {
	eventually(g.t, "the receiver has not attached", func() bool {
		mark.Fire("nothing")
		ended.Fire()
		return outcomes(g.t, g.tel, "contract")["fired"] > 0
	})
}

func (g *generator) Stop() {}

func (g *generator) Generate() []receivertest.UniqueIDAttrVal {
	id := fmt.Sprint(g.n.Add(1))
	mark.Fire(id)
	ended.Fire()
	return []receivertest.UniqueIDAttrVal{receivertest.UniqueIDAttrVal(id)}
}

// TestContract has the collector check what the receiver does when the pipeline refuses data. (It has
// no check for metrics that are added up.)
func TestContract(t *testing.T) {
	needs.Root(t)
	for signal, trace := range map[pipeline.Signal]usdtreceiver.Trace{
		pipeline.SignalLogs:   {Probes: []string{"otelshop:mark"}, Logs: &usdtreceiver.Logs{}},
		pipeline.SignalTraces: {Spans: &usdtreceiver.Spans{Start: "otelshop:mark", End: "otelshop:ended"}},
	} {
		trace.Name, trace.Target, trace.Where = "contract", here(), receivertest.UniqueIDAttrName+` != "nothing"`
		g := &generator{t: t}
		tested := usdtreceiver.NewFactory()
		// told has the generator see the telemetry of each receiver.
		told := func(set receiver.Settings) receiver.Settings {
			g.tel = componenttest.NewTelemetry()
			set.TelemetrySettings = g.tel.NewTelemetrySettings()
			return set
		}
		f := receiver.NewFactory(tested.Type(), tested.CreateDefaultConfig,
			receiver.WithLogs(func(ctx context.Context, set receiver.Settings, cfg component.Config, next consumer.Logs) (receiver.Logs, error) {
				return tested.CreateLogs(ctx, told(set), cfg, next)
			}, tested.LogsStability()),
			receiver.WithTraces(func(ctx context.Context, set receiver.Settings, cfg component.Config, next consumer.Traces) (receiver.Traces, error) {
				return tested.CreateTraces(ctx, told(set), cfg, next)
			}, tested.TracesStability()))
		receivertest.CheckConsumeContract(receivertest.CheckConsumeContractParams{T: t, Factory: f, Signal: signal, GenerateCount: 200, Config: config(trace), Generator: g})
	}
}
