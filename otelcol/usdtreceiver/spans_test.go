package usdtreceiver_test

import (
	"testing"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver"

	"github.com/go-usdt/usdt/otelcol/usdtreceiver"
)

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
