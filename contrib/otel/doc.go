// Package usdtotel connects probes and OpenTelemetry: spans fire probes, and probes
// carry the identifiers of spans.
//
//	tracing := sdktrace.NewTracerProvider(
//		sdktrace.WithSampler(usdtotel.Sampler(sampler)),
//		sdktrace.WithSpanProcessor(usdtotel.NewSpanProcessor()),
//		…)
//
// A span then fires otel:span_start and otel:span_done, whichever exporter there is:
//
//	sdttrace --where 'trace_id == "4bf92f3577b34da6a3ce929d0e0e4736"' 'otel:*'
//	sdttrace latency otel:span_start otel:span_done --key span_id --by name
//
// Both have the arguments trace_id, span_id, parent_span_id, name, kind (as in "server")
// and scope, the name of the tracer; span_done also has status ("Unset", "Ok" or "Error"),
// duration_ns and error, the description of the status.
//
// An SDK passes only recorded spans to its processors. While a tracer watches, [Sampler] also has
// spans recorded that are not sampled.
//
// The other way round, [IDs] returns the identifiers of the span in a context, for probes
// of the service's own. It is also the option IDs of the packages beside this one, such
// as contrib/nethttp.
package usdtotel
