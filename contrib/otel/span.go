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
	start = provider.NewStructProbe[span](spans, "span_start")
	done  = provider.NewStructProbe[spanDone](spans, "span_done")
)

// span is what both probes say of a span.
type span struct {
	TraceID  trace.TraceID `usdt:"trace_id"`
	SpanID   trace.SpanID  `usdt:"span_id"`
	ParentID trace.SpanID  `usdt:"parent_span_id"`
	Name     string        `usdt:"name"`
	Kind     string        `usdt:"kind"`
	Scope    string        `usdt:"scope"`
}

type spanDone struct {
	span
	Status   string        `usdt:"status"`
	Duration time.Duration `usdt:"duration_ns"`
	Error    string        `usdt:"error"`
}

func of(s sdktrace.ReadOnlySpan) span {
	id := s.SpanContext()
	return span{id.TraceID(), id.SpanID(), s.Parent().SpanID(), s.Name(), s.SpanKind().String(), s.InstrumentationScope().Name}
}

// NewSpanProcessor returns a span processor whose spans fire probes. It has no state:
// any number of tracer providers may have one each, or share one. While nobody watches,
// it costs a span a few nanoseconds.
func NewSpanProcessor() sdktrace.SpanProcessor { return processor{} }

type processor struct{}

func (processor) OnStart(_ context.Context, s sdktrace.ReadWriteSpan) {
	if spans.Enabled() {
		fired := of(s)
		start.Fire(&fired)
	}
}

func (processor) OnEnd(s sdktrace.ReadOnlySpan) {
	if spans.Enabled() {
		status := s.Status()
		done.Fire(&spanDone{of(s), status.Code.String(), s.EndTime().Sub(s.StartTime()), status.Description})
	}
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

// IDs returns the identifiers of the span in ctx, zeros if there is none, as the arguments
// of a probe.
func IDs(ctx context.Context) (traceID [16]byte, spanID [8]byte) {
	id := trace.SpanContextFromContext(ctx)
	return id.TraceID(), id.SpanID()
}
