package usdtotel

import (
	"context"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/go-usdt/usdt/provider"
)

var (
	spans = provider.New("otel", nil).Group("span")
	start = provider.NewRecord[spanStart](spans, "span_start")
	done  = provider.NewRecord[spanDone](spans, "span_done")
)

type spanStart struct {
	TraceID  string `usdt:"trace_id"`
	SpanID   string `usdt:"span_id"`
	ParentID string `usdt:"parent_span_id"`
	Name     string `usdt:"name"`
	Kind     string `usdt:"kind"`
	Scope    string `usdt:"scope"`
}

type spanDone struct {
	TraceID  string        `usdt:"trace_id"`
	SpanID   string        `usdt:"span_id"`
	ParentID string        `usdt:"parent_span_id"`
	Name     string        `usdt:"name"`
	Kind     string        `usdt:"kind"`
	Scope    string        `usdt:"scope"`
	Status   string        `usdt:"status"`
	Duration time.Duration `usdt:"duration_ns"`
	Error    string        `usdt:"error"`
}

// NewSpanProcessor returns a span processor whose spans fire probes. It has no state:
// any number of tracer providers may have one each, or share one. While nobody watches,
// it costs a span a few nanoseconds.
func NewSpanProcessor() sdktrace.SpanProcessor { return processor{} }

type processor struct{}

func (processor) OnStart(_ context.Context, s sdktrace.ReadWriteSpan) {
	if !spans.Enabled() {
		return
	}
	id := s.SpanContext()
	start.Fire(&spanStart{
		TraceID: id.TraceID().String(), SpanID: id.SpanID().String(), ParentID: s.Parent().SpanID().String(),
		Name: s.Name(), Kind: s.SpanKind().String(), Scope: s.InstrumentationScope().Name,
	})
}

func (processor) OnEnd(s sdktrace.ReadOnlySpan) {
	if !spans.Enabled() {
		return
	}
	id, status := s.SpanContext(), s.Status()
	done.Fire(&spanDone{
		TraceID: id.TraceID().String(), SpanID: id.SpanID().String(), ParentID: s.Parent().SpanID().String(),
		Name: s.Name(), Kind: s.SpanKind().String(), Scope: s.InstrumentationScope().Name,
		Status: status.Code.String(), Duration: s.EndTime().Sub(s.StartTime()), Error: status.Description,
	})
}

func (processor) Shutdown(context.Context) error { return nil }

func (processor) ForceFlush(context.Context) error { return nil }

// Sampler returns a sampler that decides as s does, but has spans recorded that s would
// drop while a tracer watches the probes of spans. Such spans are not sampled: exporters
// of the SDK leave them out, and other services are told what s decided.
func Sampler(s sdktrace.Sampler) sdktrace.Sampler { return sampler{s} }

type sampler struct{ sdktrace.Sampler }

func (s sampler) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	r := s.Sampler.ShouldSample(p)
	if r.Decision == sdktrace.Drop && spans.Enabled() {
		r.Decision = sdktrace.RecordOnly
	}
	return r
}

// IDs returns the identifiers of the span in ctx, zeros if there is none. Probes have
// arguments of such types:
//
//	looked := provider.NewProbe3[[16]byte, [8]byte, string](shop, "cache_lookup", "trace_id", "span_id", "key")
//	…
//	if looked.Enabled() {
//		traceID, spanID := usdtotel.IDs(ctx)
//		looked.Fire(traceID, spanID, key)
//	}
func IDs(ctx context.Context) (traceID [16]byte, spanID [8]byte) {
	id := trace.SpanContextFromContext(ctx)
	return id.TraceID(), id.SpanID()
}
