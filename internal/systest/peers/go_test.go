package peers

import (
	"context"
	"io"
	"log/slog"
	"runtime/trace"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	oteltrace "go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/go-usdt/usdt/provider"
)

const message = "sixteen bytes ok"

var sink int

// nowhere is an exporter that drops spans.
type nowhere struct{}

func (nowhere) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error { return nil }
func (nowhere) Shutdown(context.Context) error                             { return nil }

// span makes a span of three attributes, which are set if the span is recorded.
func span(tracer oteltrace.Tracer) func(int) {
	ctx := context.Background()
	return func(n int) {
		for i := range n {
			_, s := tracer.Start(ctx, "request")
			if s.IsRecording() {
				s.SetAttributes(attribute.Int("a", i), attribute.String("b", message), attribute.Int("c", i))
			}
			s.End()
		}
	}
}

// BenchmarkGo measures what it costs to show two numbers and a string of 16
// bytes: by a probe that nobody watches, and by one whose events another process
// reads; by a span of OpenTelemetry without an SDK, not sampled, and sampled and
// exported to nowhere; by a message of runtime/trace, which has the string only,
// while nobody traces and with a discarded trace; by a record of log/slog below
// the level, and as discarded JSON.
func BenchmarkGo(b *testing.B) {
	ctx := context.Background()
	p := provider.New("peers", nil)
	unwatched := provider.NewProbe3[int, string, int](p, "unwatched", "a", "b", "c")
	watched := provider.NewProbe3[int, string, int](p, "watched", "a", "b", "c")
	if err := provider.LoadAll(nil); err != nil {
		b.Fatal(err)
	}
	defer provider.CloseAll()
	stop := startTracer(b, "watched", "kernel", len(message))

	never := sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample()))
	defer never.Shutdown(ctx)
	const cheap, dear = 5_000_000, 20_000 // dear events fit into the buffers that collect them
	always := sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.AlwaysSample()),
		sdktrace.WithBatcher(nowhere{}, sdktrace.WithMaxQueueSize(2*dear)))
	defer always.Shutdown(ctx)

	log := slog.New(slog.NewJSONHandler(io.Discard, nil))
	record := func(level slog.Level) func(int) {
		return func(n int) {
			for i := range n {
				log.LogAttrs(ctx, level, "request", slog.Int("a", i), slog.String("b", message), slog.Int("c", i))
			}
		}
	}
	message := func(n int) {
		for range n {
			trace.Log(ctx, "request", message)
		}
	}
	fired := 0
	byTurns(b, 15, []contender{
		{name: "empty-loop", n: cheap, loop: func(n int) {
			for i := range n {
				sink = i
			}
		}},
		{name: "fire-unwatched", n: cheap, loop: func(n int) {
			for i := range n {
				sink = i
				unwatched.Fire(i, "sixteen bytes ok", i)
			}
		}},
		{name: "fire-session", n: dear, loop: func(n int) {
			fired += n
			for i := range n {
				watched.Fire(i, "sixteen bytes ok", i)
			}
		}},
		{name: "otel-none", n: cheap / 10, loop: span(noop.NewTracerProvider().Tracer("peers"))},
		{name: "otel-unsampled", n: dear, loop: span(never.Tracer("peers"))},
		{name: "otel-sampled", n: dear, loop: span(always.Tracer("peers")), off: func() {
			if err := always.ForceFlush(ctx); err != nil {
				b.Fatal(err)
			}
		}},
		{name: "trace-off", n: cheap, loop: message},
		{name: "trace-on", n: dear, loop: message, on: func() {
			if err := trace.Start(io.Discard); err != nil {
				b.Fatal(err)
			}
		}, off: trace.Stop},
		{name: "slog-off", n: cheap / 10, loop: record(slog.LevelDebug)},
		{name: "slog-json", n: dear, loop: record(slog.LevelInfo)},
	})
	stop(fired)
}
