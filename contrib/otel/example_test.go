package usdtotel_test

import (
	"context"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/go-usdt/usdt/contrib/otel"
	"github.com/go-usdt/usdt/provider"
)

// Spans fire probes. While somebody watches, so do spans that are not sampled.
func ExampleNewSpanProcessor() {
	tracing := sdktrace.NewTracerProvider(
		sdktrace.WithSampler(usdtotel.Sampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(0.01)))),
		sdktrace.WithSpanProcessor(usdtotel.NewSpanProcessor()),
	)
	defer tracing.Shutdown(context.Background())
}

var (
	shop     = provider.New("shop", nil)
	lookedUp = provider.NewProbe4[[16]byte, [8]byte, string, bool](shop, "cache_lookup", "trace_id", "span_id", "key", "hit")
)

// A probe of the service's own carries the identifiers of the request's span, which are
// looked for only while somebody watches.
func ExampleIDs() {
	ctx, key, hit := context.Background(), "user/17", true
	lookedUp.FireFunc(func() ([16]byte, [8]byte, string, bool) {
		traceID, spanID := usdtotel.IDs(ctx)
		return traceID, spanID, key, hit
	})
}
