package usdtotel_test

import (
	"context"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/go-usdt/usdt/contrib/otel"
)

// Spans fire probes, also those that are not sampled while somebody watches.
func ExampleNewSpanProcessor() {
	tracing := sdktrace.NewTracerProvider(
		sdktrace.WithSampler(usdtotel.Sampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(0.01)))),
		sdktrace.WithSpanProcessor(usdtotel.NewSpanProcessor()),
	)
	defer tracing.Shutdown(context.Background())
}
