package usdtreceiver_test

import (
	"os"
	"testing"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/receiver"

	"github.com/go-usdt/usdt/otelcol/usdtreceiver"
)

const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// TestLogs checks that each event is a record, with its arguments and its parent.
func TestLogs(t *testing.T) {
	sink := &consumertest.LogsSink{}
	tel := componenttest.NewTelemetry()
	stop := start(t, 1, tel, func(set receiver.Settings) (component.Component, error) {
		return usdtreceiver.NewFactory().CreateLogs(t.Context(), set, config(usdtreceiver.Trace{
			Probes: []string{"otelshop:sale"}, Target: here(), MaxEventsPerSecond: 1e6, Where: `item != "none"`, Logs: &usdtreceiver.Logs{Parent: "traceparent"},
		}), sink)
	})
	for i := range 2000 {
		sale.Fire("plum", int64(i), parent)
		sale.Fire("none", 0, "")
	}
	eventually(t, "records are missing", func() bool { return sink.LogRecordCount() >= 2000 })
	if o := outcomes(t, tel, "otelshop:sale"); o["fired"] != 4000 || o["filtered"] != 2000 || o["received"] != 2000 || o["lost"]+o["over_budget"]+o["refused"] != 0 {
		t.Errorf("telemetry says %v", o)
	}
	stop()
	cents := map[int64]bool{}
	eachLog(sink.AllLogs(), func(r plog.ResourceLogs, s plog.ScopeLogs, l plog.LogRecord) {
		a := l.Attributes().AsRaw()
		pid, _ := r.Resource().Attributes().Get("process.pid")
		if l.EventName() != "otelshop.sale" || s.Scope().Name() != "otelshop" || a["item"] != "plum" || pid.Int() != int64(os.Getpid()) ||
			l.TraceID().String() != parent[3:35] || l.SpanID().String() != parent[36:52] || time.Since(l.Timestamp().AsTime()) > time.Hour {
			t.Fatalf("record %s of %s: %v, trace %s, span %s", l.EventName(), s.Scope().Name(), a, l.TraceID(), l.SpanID())
		}
		cents[a["cents"].(int64)] = true
	})
	if len(cents) != 2000 {
		t.Errorf("%d different events, want 2000", len(cents))
	}
}

func eachLog(all []plog.Logs, f func(plog.ResourceLogs, plog.ScopeLogs, plog.LogRecord)) {
	for _, one := range all {
		for i := range one.ResourceLogs().Len() {
			r := one.ResourceLogs().At(i)
			for j := range r.ScopeLogs().Len() {
				s := r.ScopeLogs().At(j)
				for k := range s.LogRecords().Len() {
					f(r, s, s.LogRecords().At(k))
				}
			}
		}
	}
}
