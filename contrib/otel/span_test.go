package usdtotel_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/go-usdt/usdt/contrib/otel"
	"github.com/go-usdt/usdt/internal/systest/fired"
	"github.com/go-usdt/usdt/provider"
	"github.com/go-usdt/usdt/provider/providertest"
)

var spans = provider.New("otel", nil)

// tracing returns a tracer provider with the processor under test, and what it exports.
func tracing(t testing.TB, s sdktrace.Sampler) (*sdktrace.TracerProvider, *tracetest.InMemoryExporter) {
	exported := tracetest.NewInMemoryExporter()
	tp := sdktrace.NewTracerProvider(sdktrace.WithSampler(s), sdktrace.WithSyncer(exported), sdktrace.WithSpanProcessor(usdtotel.NewSpanProcessor()))
	t.Cleanup(func() { tp.Shutdown(context.Background()) })
	return tp, exported
}

// check compares what probes fired with what was exported: both name the same spans.
func check(t *testing.T, done []fired.Event, exported tracetest.SpanStubs) {
	t.Helper()
	want := map[string]tracetest.SpanStub{}
	for _, s := range exported {
		want[s.SpanContext.SpanID().String()] = s
	}
	for _, ev := range done {
		s, ok := want[ev.Args["span_id"].(string)]
		if !ok {
			t.Errorf("%v was not exported, or fired twice", ev.Args)
			continue
		}
		delete(want, ev.Args["span_id"].(string))
		for name, value := range map[string]any{
			"trace_id": s.SpanContext.TraceID().String(), "parent_span_id": s.Parent.SpanID().String(),
			"name": s.Name, "kind": s.SpanKind.String(), "scope": s.InstrumentationScope.Name,
			"status": s.Status.Code.String(), "error": s.Status.Description, "duration_ns": float64(s.EndTime.Sub(s.StartTime)),
		} {
			if ev.Args[name] != value {
				t.Errorf("%s of span %q is %v, want %v", name, s.Name, ev.Args[name], value)
			}
		}
	}
	for _, s := range want {
		t.Errorf("span %q was exported, and fired nothing", s.Name)
	}
}

// TestTraced has sdttrace print the spans of many goroutines, and those of one trace.
func TestTraced(t *testing.T) {
	tp, exported := tracing(t, sdktrace.AlwaysSample())
	ctx, root := tp.Tracer("shop").Start(t.Context(), "root", trace.WithSpanKind(trace.SpanKindServer))
	one := root.SpanContext().TraceID()
	all := fired.Trace(t, "otel:*")
	some := fired.Trace(t, "otel:span_done", "--where", fmt.Sprintf("trace_id == %q", one))
	const goroutines, children = 8, 50
	var wait sync.WaitGroup
	for g := range goroutines {
		ctx := ctx
		if g%2 == 1 {
			ctx = t.Context() // traces of their own
		}
		wait.Go(func() {
			for n := range children {
				_, s := tp.Tracer("shop").Start(ctx, fmt.Sprint("child ", g, " ", n))
				if n%10 == 0 {
					s.SetStatus(codes.Error, "sold out: ☎ \"it\"")
				}
				s.SetName(s.(sdktrace.ReadOnlySpan).Name() + "!")
				s.End(trace.WithTimestamp(time.Now().Add(time.Hour)))
				s.End() // the second one has no effect
			}
		})
	}
	wait.Wait()
	root.End()
	var done []fired.Event
	started := map[any]bool{}
	for _, ev := range all.Stop() {
		if ev.Name == "span_start" {
			started[ev.Args["span_id"]] = true
		} else {
			done = append(done, ev)
		}
	}
	check(t, done, exported.GetSpans())
	if len(started) != goroutines*children {
		t.Errorf("%d spans began, want %d", len(started), goroutines*children)
	}
	var ofOne tracetest.SpanStubs
	for _, s := range exported.GetSpans() {
		if s.SpanContext.TraceID() == one {
			ofOne = append(ofOne, s)
		}
	}
	check(t, some.Stop(), ofOne)
	if len(ofOne) < 2 || len(ofOne) == len(done) {
		t.Errorf("%d of %d spans are of one trace", len(ofOne), len(done))
	}
}

// TestSampler checks that spans which are not sampled fire while somebody watches, are
// exported to nobody, and are not recorded otherwise.
func TestSampler(t *testing.T) {
	tp, exported := tracing(t, usdtotel.Sampler(sdktrace.ParentBased(sdktrace.NeverSample())))
	ctx, s := tp.Tracer("shop").Start(t.Context(), "unwatched")
	if s.IsRecording() {
		t.Error("a span is recorded that nobody watches")
	}
	rec := providertest.Record(t, spans)
	ctx, parent := tp.Tracer("shop").Start(ctx, "parent")
	_, child := tp.Tracer("shop").Start(ctx, "child")
	for _, s := range []trace.Span{child, parent} {
		if !s.IsRecording() || s.SpanContext().IsSampled() {
			t.Error("a span is not recorded, or is sampled")
		}
		s.End()
	}
	var names []any
	for _, ev := range rec.Events("span_done") {
		names = append(names, fired.Args(ev)["name"])
	}
	if fmt.Sprint(names) != "[child parent]" {
		t.Errorf("done: %v", names)
	}
	if n := len(exported.GetSpans()); n != 0 {
		t.Errorf("%d spans were exported", n)
	}
	if got, want := usdtotel.Sampler(sdktrace.AlwaysSample()).Description(), sdktrace.AlwaysSample().Description(); got != want {
		t.Errorf("the sampler is described as %q, want %q", got, want)
	}
}

var (
	own    = provider.New("own", nil)
	looked = provider.NewProbe2[[16]byte, [8]byte](own, "cache_lookup", "trace_id", "span_id")
)

// TestIDs checks that a probe of one's own carries the identifiers of the span in a
// context.
func TestIDs(t *testing.T) {
	tp, _ := tracing(t, sdktrace.NeverSample())
	ctx, s := tp.Tracer("shop").Start(t.Context(), "request")
	traceID, spanID := usdtotel.IDs(ctx)
	if traceID != s.SpanContext().TraceID() || spanID != s.SpanContext().SpanID() {
		t.Errorf("got %x and %x, want those of %v", traceID, spanID, s.SpanContext())
	}
	rec := providertest.Record(t, own)
	looked.FireFunc(func() ([16]byte, [8]byte) { return usdtotel.IDs(ctx) })
	if got, want := fmt.Sprint(fired.Args(rec.Events("cache_lookup")[0])), fmt.Sprintf("map[span_id:%v trace_id:%v]", s.SpanContext().SpanID(), s.SpanContext().TraceID()); got != want {
		t.Errorf("the probe fired %s, want %s", got, want)
	}
	if traceID, spanID := usdtotel.IDs(context.Background()); traceID != [16]byte{} || spanID != [8]byte{} {
		t.Errorf("got %x and %x of no span", traceID, spanID)
	}
}

// TestProcessors checks that processors share their probes, and that one which is shut
// down goes on as others do.
func TestProcessors(t *testing.T) {
	rec := providertest.Record(t, spans)
	for range 100 {
		tp, _ := tracing(t, sdktrace.AlwaysSample())
		_, s := tp.Tracer("shop").Start(t.Context(), "request")
		s.End()
		if err := errors.Join(tp.ForceFlush(t.Context()), tp.Shutdown(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(rec.Events("span_done")); n != 100 {
		t.Errorf("%d events, want 100", n)
	}
}

// TestKnown checks that package prototype knows the probes.
func TestKnown(t *testing.T) { fired.Known(t, "otel", 2) }

// TestAllocs checks that unwatched spans take no allocation more.
func TestAllocs(t *testing.T) {
	span := func(s sdktrace.Sampler, p sdktrace.SpanProcessor) func() {
		tracer := sdktrace.NewTracerProvider(sdktrace.WithSampler(s), sdktrace.WithSpanProcessor(p)).Tracer("shop")
		return func() {
			_, s := tracer.Start(t.Context(), "request")
			s.End()
		}
	}
	for _, s := range []sdktrace.Sampler{sdktrace.NeverSample(), sdktrace.AlwaysSample()} {
		fired.NoAllocs(t, span(s, nothing{}), span(usdtotel.Sampler(s), usdtotel.NewSpanProcessor()))
	}
}

// BenchmarkUnwatched makes spans that are dropped and spans that are recorded, with the
// processor and without.
func BenchmarkUnwatched(b *testing.B) {
	if err := provider.LoadAll(nil); err != nil {
		b.Fatal(err)
	}
	defer provider.CloseAll()
	for _, c := range []struct {
		name    string
		options []sdktrace.TracerProviderOption
	}{
		{"dropped/bare", []sdktrace.TracerProviderOption{sdktrace.WithSampler(sdktrace.NeverSample())}},
		{"dropped/wrapped", []sdktrace.TracerProviderOption{sdktrace.WithSampler(usdtotel.Sampler(sdktrace.NeverSample())), sdktrace.WithSpanProcessor(usdtotel.NewSpanProcessor())}},
		{"sampled/bare", []sdktrace.TracerProviderOption{sdktrace.WithSpanProcessor(nothing{})}},
		{"sampled/wrapped", []sdktrace.TracerProviderOption{sdktrace.WithSpanProcessor(nothing{}), sdktrace.WithSpanProcessor(usdtotel.NewSpanProcessor())}},
	} {
		b.Run(c.name, func(b *testing.B) {
			tracer := sdktrace.NewTracerProvider(c.options...).Tracer("shop")
			b.ReportAllocs()
			for b.Loop() {
				_, s := tracer.Start(b.Context(), "request")
				s.End()
			}
		})
	}
}

// nothing is a processor that does nothing.
type nothing struct{}

func (nothing) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (nothing) OnEnd(sdktrace.ReadOnlySpan)                     {}
func (nothing) Shutdown(context.Context) error                  { return nil }
func (nothing) ForceFlush(context.Context) error                { return nil }
