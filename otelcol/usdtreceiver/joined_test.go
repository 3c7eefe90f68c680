package usdtreceiver_test

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/go-usdt/usdt/otelcol/usdtreceiver"
	"github.com/go-usdt/usdt/provider"
)

// These fire within a span of the service, and say so in several ways.
var (
	worked = provider.NewProbe6[string, string, uint64, uint64, uint64, uint64](shop, "worked", "trace", "span", "high", "low", "number", "took")
	stored = provider.NewProbe4[[]byte, [16]byte, [8]byte, uint64](shop, "stored", "slice", "array", "within", "took")
)

// TestJoined checks that spans and logs belong to the trace of a service that uses the OpenTelemetry SDK,
// whatever its arguments are that have the identifiers.
func TestJoined(t *testing.T) {
	sdk := trace.NewTracerProvider()
	_, span := sdk.Tracer("shop").Start(t.Context(), "order")
	defer span.End()
	in := span.SpanContext()
	id, of := in.TraceID(), in.SpanID()
	high, low := binary.BigEndian.Uint64(id[:8]), binary.BigEndian.Uint64(id[8:])
	for name, c := range map[string]struct {
		probe string
		trace []string
		span  string
	}{
		"text":        {"worked", []string{"trace"}, "span"},
		"integers":    {"worked", []string{"high", "low"}, "number"},
		"a slice":     {"stored", []string{"slice"}, "within"},
		"an array":    {"stored", []string{"array"}, "within"},
		"without":     {"worked", []string{"trace"}, ""},
		"no argument": {"worked", []string{"trace"}, "of_no_such_name"},
	} {
		t.Run(name, func(t *testing.T) {
			spans, logs := &consumertest.TracesSink{}, &consumertest.LogsSink{}
			one := func(out usdtreceiver.Trace) *usdtreceiver.Config {
				out.Probes, out.Target = []string{"otelshop:" + c.probe}, here()
				return config(out)
			}
			deliver := func(delivered func() bool, create func(receiver.Settings) (component.Component, error)) {
				stop := start(t, 1, nil, create)
				worked.Fire(id.String(), of.String(), high, low, binary.BigEndian.Uint64(of[:]), 1)
				stored.Fire(id[:], id, of, 1)
				eventually(t, "nothing is delivered", delivered)
				stop()
			}
			deliver(func() bool { return spans.SpanCount() > 0 }, func(set receiver.Settings) (component.Component, error) {
				return usdtreceiver.NewFactory().CreateTraces(t.Context(), set, one(usdtreceiver.Trace{Spans: &usdtreceiver.Spans{Duration: "took", TraceID: c.trace, SpanID: c.span}}), spans)
			})
			deliver(func() bool { return logs.LogRecordCount() > 0 }, func(set receiver.Settings) (component.Component, error) {
				return usdtreceiver.NewFactory().CreateLogs(t.Context(), set, one(usdtreceiver.Trace{Logs: &usdtreceiver.Logs{TraceID: c.trace, SpanID: c.span}}), logs)
			})
			want := of.String()
			if c.span == "" || c.span == "of_no_such_name" {
				want = ""
			}
			eachSpan(spans.AllTraces(), func(s ptrace.Span) {
				if s.TraceID().String() != id.String() || s.ParentSpanID().String() != want || s.SpanID().IsEmpty() {
					t.Errorf("a span in trace %s with parent %s, want %s, %q", s.TraceID(), s.ParentSpanID(), id, want)
				}
			})
			eachLog(logs.AllLogs(), func(_ plog.ResourceLogs, _ plog.ScopeLogs, l plog.LogRecord) {
				if l.TraceID().String() != id.String() || l.SpanID().String() != want {
					t.Errorf("a record in trace %s, span %s, want %s, %q", l.TraceID(), l.SpanID(), id, want)
				}
			})
		})
	}
}

// TestNotJoined checks that the log names an argument which no probe has.
func TestNotJoined(t *testing.T) {
	core, said := observer.New(zap.WarnLevel)
	wrong := usdtreceiver.Spans{Duration: "took", TraceID: []string{"high", "lo"}, SpanID: "span"}
	start(t, 1, nil, func(set receiver.Settings) (component.Component, error) {
		set.Logger = zap.New(core)
		return usdtreceiver.NewFactory().CreateTraces(t.Context(), set, config(usdtreceiver.Trace{Probes: []string{"otelshop:worked"}, Target: here(), Spans: &wrong}), consumertest.NewNop())
	})
	eventually(t, "nothing is said", func() bool { return said.Len() > 0 })
	for _, one := range said.All() {
		if err := fmt.Sprint(one.ContextMap()["error"]); !strings.Contains(err, "no argument lo") {
			t.Errorf("%s: %s", one.Message, err)
		}
	}
}
