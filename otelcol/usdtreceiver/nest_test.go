package usdtreceiver_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/receivertest"

	"github.com/go-usdt/usdt/otelcol/usdtreceiver"
)

// TestSpansNest checks that a span is the child of the shortest span around it on its thread, of any
// entry, and has the trace of it.
func TestSpansNest(t *testing.T) {
	const patience = time.Minute // the end of the traces comes first
	sink := &consumertest.TracesSink{}
	tel := componenttest.NewTelemetry()
	stop := start(t, 2, tel, func(set receiver.Settings) (component.Component, error) {
		return usdtreceiver.NewFactory().CreateTraces(t.Context(), set, config(
			usdtreceiver.Trace{Name: "call", Target: here(), MaxEventsPerSecond: 1e6, Spans: &usdtreceiver.Spans{Start: "otelshop:begin", End: "otelshop:done", Parent: "traceparent", Nest: patience}},
			usdtreceiver.Trace{Name: "inner", Target: here(), MaxEventsPerSecond: 1e6, Spans: &usdtreceiver.Spans{Start: "otelshop:mark", End: "otelshop:ended", Nest: patience}},
		), sink)
	})
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	call := func(item, parent string, inner func()) {
		begin.Fire(1, item, parent)
		inner()
		done.Fire(1, true)
	}
	leaf := func(item string) func() { return func() { mark.Fire(item); ended.Fire() } }
	both := func(all ...func()) func() {
		return func() {
			for _, f := range all {
				f()
			}
		}
	}
	eventually(t, "the traces have not been attached", func() bool {
		call("warm", "", leaf("warm"))
		return outcomes(t, tel, "call")["received"] > 0 && outcomes(t, tel, "inner")["received"] > 0
	})
	const rounds = 20
	for i := range rounds {
		name := func(s string) string { return fmt.Sprint(s, i) }
		call(name("root"), "", both(leaf(name("first leaf")), func() {
			call(name("middle"), "", func() { call(name("deep"), "", leaf(name("deepest"))) })
		}, leaf(name("last leaf"))))
		leaf(name("alone"))()
		call(name("joined"), parent, leaf(name("child of joined")))
		call(name("outside"), "", func() { call(name("joined within"), parent, leaf(name("child within"))) })
	}
	const each = 12
	spans := func() map[string]ptrace.Span {
		out := map[string]ptrace.Span{}
		eachSpan(sink.AllTraces(), func(s ptrace.Span) {
			item, ok := s.Attributes().Get("item")
			if !ok {
				item, _ = s.Attributes().Get(receivertest.UniqueIDAttrName)
			}
			if item.Str() != "warm" {
				out[item.Str()] = s
			}
		})
		return out
	}
	eventually(t, "not all spans wait", func() bool {
		fired, received := int64(0), int64(0)
		for _, name := range []string{"call", "inner"} {
			o := outcomes(t, tel, name)
			fired += o["fired"] - o["filtered"] // which had begun before the traces
			received += o["received"]
		}
		return received == fired && received == 2*int64(usdtreceiver.Waiting())
	})
	if sink.SpanCount() > 0 {
		t.Errorf("%d spans have not waited", sink.SpanCount())
	}
	stop()
	if n := len(spans()); n != each*rounds {
		t.Errorf("%d spans, want %d", n, each*rounds)
	}
	all := spans()
	for i := range rounds {
		for child, outer := range map[string]string{
			"first leaf": "root", "middle": "root", "last leaf": "root", "deep": "middle", "deepest": "deep",
			"child of joined": "joined", "child within": "joined within", "root": "", "alone": "", "outside": "",
		} {
			s := all[fmt.Sprint(child, i)]
			if outer == "" {
				if !s.ParentSpanID().IsEmpty() || s.TraceID().IsEmpty() {
					t.Errorf("%s has a parent, %s", child, s.ParentSpanID())
				}
				continue
			}
			if of := all[fmt.Sprint(outer, i)]; s.ParentSpanID() != of.SpanID() || s.TraceID() != of.TraceID() {
				t.Errorf("%s is a child of %s in %s, want one of %s, %s in %s", child, s.ParentSpanID(), s.TraceID(), outer, of.SpanID(), of.TraceID())
			}
		}
		for _, name := range []string{"joined", "joined within"} {
			if s := all[fmt.Sprint(name, i)]; s.ParentSpanID().String() != parent[36:52] || s.TraceID().String() != parent[3:35] {
				t.Errorf("%s is a child of %s in %s, want what its argument says", name, s.ParentSpanID(), s.TraceID())
			}
		}
		if a, b := all[fmt.Sprint("root", i)], all[fmt.Sprint("outside", i)]; a.TraceID() == b.TraceID() {
			t.Errorf("what follows on the thread belongs to the same trace")
		}
	}
}
