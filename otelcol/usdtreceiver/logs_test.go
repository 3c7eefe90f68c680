package usdtreceiver_test

import (
	"os"
	"slices"
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

// TestLogsSnapshot checks that only the events around one that fulfils a condition become records, and
// which one that is.
func TestLogsSnapshot(t *testing.T) {
	sink := &consumertest.LogsSink{}
	tel := componenttest.NewTelemetry()
	stop := start(t, 1, tel, func(set receiver.Settings) (component.Component, error) {
		return usdtreceiver.NewFactory().CreateLogs(t.Context(), set, config(usdtreceiver.Trace{
			Name: "around", Probes: []string{"otelshop:sale"}, Target: here(), MaxEventsPerSecond: 1e6,
			Logs: &usdtreceiver.Logs{Snapshot: &usdtreceiver.Snapshot{On: `item == "bad" && cents > 0`, Before: 3, After: 2, Every: time.Nanosecond}},
		}), sink)
	})
	for i := range int64(300) {
		item := "plum"
		if i%100 == 50 {
			item = "bad"
		}
		sale.Fire(item, i, "")
	}
	eventually(t, "records are missing", func() bool { return sink.LogRecordCount() >= 18 })
	fired(t, tel, "around", 300)
	if o := outcomes(t, tel, "around"); o["received"] != 300 || o["lost"]+o["over_budget"]+o["refused"] != 0 {
		t.Errorf("telemetry says %v", o)
	}
	stop()
	got := map[string][]int64{}
	on := map[string]int64{}
	eachLog(sink.AllLogs(), func(_ plog.ResourceLogs, _ plog.ScopeLogs, l plog.LogRecord) {
		a := l.Attributes().AsRaw()
		id, _ := a["usdt.snapshot"].(string)
		got[id] = append(got[id], a["cents"].(int64))
		if a["usdt.snapshot.on"] == true {
			on[id] = a["cents"].(int64)
		}
	})
	if len(got) != 3 || len(on) != 3 {
		t.Fatalf("snapshots %v, of %v", got, on)
	}
	for id, cents := range got {
		at := on[id]
		if want := []int64{at - 3, at - 2, at - 1, at, at + 1, at + 2}; at%100 != 50 || !slices.Equal(cents, want) {
			t.Errorf("a snapshot of %d has %d, want %d", at, cents, want)
		}
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
