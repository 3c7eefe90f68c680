package usdtreceiver_test

import (
	"testing"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver"

	"github.com/go-usdt/usdt/otelcol/usdtreceiver"
)

// TestSpansOfDurations checks that an event that says how long something took is a span, which ends with it.
func TestSpansOfDurations(t *testing.T) {
	for name, what := range map[string]usdtreceiver.Spans{
		"a duration":              {Duration: "took"},
		"microseconds":            {Duration: "us", Unit: "us"},
		"fractions of a unit, ms": {Duration: "ms", Unit: "ms"},
	} {
		t.Run(name, func(t *testing.T) {
			sink := &consumertest.TracesSink{}
			what.Parent = "traceparent"
			stop := start(t, 1, nil, func(set receiver.Settings) (component.Component, error) {
				return usdtreceiver.NewFactory().CreateTraces(t.Context(), set, config(usdtreceiver.Trace{
					Probes: []string{"otelshop:slept"}, Target: here(), MaxEventsPerSecond: 1e6, Spans: &what,
				}), sink)
			})
			began := time.Now()
			for i := range 100 {
				took := time.Duration(i) * 25 * time.Microsecond
				slept.Fire("nap", took, uint64(took/time.Microsecond), took.Seconds()*1000, parent)
			}
			eventually(t, "spans are missing", func() bool { return sink.SpanCount() >= 100 })
			stop()
			took := map[time.Duration]int{}
			eachSpan(sink.AllTraces(), func(s ptrace.Span) {
				from, to := s.StartTimestamp().AsTime(), s.EndTimestamp().AsTime()
				took[to.Sub(from).Round(time.Microsecond)]++ // of fractions
				item, _ := s.Attributes().Get("item")
				if s.Name() != "otelshop.slept" || item.Str() != "nap" || to.Before(began.Add(-time.Second)) || s.ParentSpanID().String() != parent[36:52] || s.TraceID().String() != parent[3:35] {
					t.Fatalf("%s of %s from %v to %v, parent %s", s.Name(), item.Str(), from, to, s.ParentSpanID())
				}
			})
			for i := range 100 {
				if want := time.Duration(i) * 25 * time.Microsecond; took[want] != 1 {
					t.Errorf("%d spans of %v: %v", took[want], want, took)
				}
			}
		})
	}
}

// TestNotADuration checks that a trace whose argument is no time fails, and says so.
func TestNotADuration(t *testing.T) {
	for _, argument := range []string{"item", "of_no_such_name"} {
		tel := componenttest.NewTelemetry()
		start(t, 1, tel, func(set receiver.Settings) (component.Component, error) {
			return usdtreceiver.NewFactory().CreateTraces(t.Context(), set, config(usdtreceiver.Trace{
				Name: "wrong", Probes: []string{"otelshop:slept"}, Target: here(), Spans: &usdtreceiver.Spans{Duration: argument},
			}), consumertest.NewNop())
		})
		eventually(t, argument+": the trace does not fail", func() bool {
			slept.Fire("nap", 1, 1, 1, "")
			is, _ := state(t, tel, "wrong")
			return is == "failed"
		})
	}
}
