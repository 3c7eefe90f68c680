package usdtreceiver_test

import (
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/go-usdt/usdt/internal/systest/bpf"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/otelcol/usdtreceiver"
)

// state returns what the collector's own telemetry says that a trace does.
func state(t *testing.T, tel *componenttest.Telemetry, trace string) (word string, suspensions int64) {
	t.Helper()
	m, err1 := tel.GetMetric("otelcol_usdt_state")
	n, err2 := tel.GetMetric("otelcol_usdt_suspensions")
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	for _, p := range m.Data.(metricdata.Gauge[int64]).DataPoints {
		if name, _ := p.Attributes.Value("trace"); name.AsString() == trace && p.Value == 1 {
			is, _ := p.Attributes.Value("state")
			word += is.AsString()
		}
	}
	for _, p := range n.Data.(metricdata.Sum[int64]).DataPoints {
		if name, _ := p.Attributes.Value("trace"); name.AsString() == trace {
			suspensions += p.Value
		}
	}
	return word, suspensions
}

// TestSampled checks that a trace beyond its budget of events, or of bytes, delivers one in so many, and
// all once there are few again.
func TestSampled(t *testing.T) {
	for name, trace := range map[string]usdtreceiver.Trace{
		"events": {MaxEventsPerSecond: 12},
		"bytes":  {MaxEventsPerSecond: 1e6, MaxBytesPerSecond: 12_500},
	} {
		t.Run(name, func(t *testing.T) {
			trace.Name, trace.Probes, trace.Target, trace.Logs = "few", []string{"otelshop:sale"}, here(), &usdtreceiver.Logs{}
			sink := &consumertest.LogsSink{}
			tel := componenttest.NewTelemetry()
			start(t, 1, tel, func(set receiver.Settings) (component.Component, error) {
				return usdtreceiver.NewFactory().CreateLogs(t.Context(), set, config(trace), sink)
			})
			item := strings.Repeat("x", 1000)
			eventually(t, "the trace is not sampled", func() bool { // at most every millisecond
				sale.Fire(item, 1, "")
				is, _ := state(t, tel, "few")
				return is == "sampled"
			})
			if o := outcomes(t, tel, "few"); o["over_budget"] == 0 || sink.LogRecordCount() == 0 {
				t.Errorf("%d records, telemetry says %v", sink.LogRecordCount(), o)
			}
			rest := time.Now()
			eventually(t, "the trace stays sampled", func() bool {
				if time.Since(rest) > 500*time.Millisecond {
					rest = time.Now()
					sale.Fire("fig", 1, "")
				}
				is, _ := state(t, tel, "few")
				return is == "all"
			})
			if _, n := state(t, tel, "few"); n != 0 {
				t.Errorf("%d suspensions", n)
			}
		})
	}
}

// TestSuspended checks that a trace far beyond its budget is detached, and attached again.
func TestSuspended(t *testing.T) {
	for name, trace := range map[string]usdtreceiver.Trace{
		"events":    {MaxEventsPerSecond: 1, Logs: &usdtreceiver.Logs{}},
		"bytes":     {MaxEventsPerSecond: 1e6, MaxBytesPerSecond: 1, Logs: &usdtreceiver.Logs{}},
		"processor": {MaxCPUPercent: 1e-6, Metrics: &usdtreceiver.Metrics{}},
	} {
		t.Run(name, func(t *testing.T) {
			trace.Name, trace.Probes, trace.Target, trace.Suspension = "many", []string{"otelshop:sale"}, here(), 300*time.Millisecond
			tel := componenttest.NewTelemetry()
			start(t, 1, tel, func(set receiver.Settings) (component.Component, error) {
				if trace.Logs != nil {
					return usdtreceiver.NewFactory().CreateLogs(t.Context(), set, config(trace), consumertest.NewNop())
				}
				return usdtreceiver.NewFactory().CreateMetrics(t.Context(), set, config(trace), consumertest.NewNop())
			})
			detached, fired, first := false, int64(0), int64(0)
			eventually(t, "the trace is not suspended, resumed and suspended again", func() bool {
				for range 50 {
					sale.Fire("fig", 1, "")
				}
				is, n := state(t, tel, "many")
				if is == "suspended" && !sale.Enabled() {
					detached = true
				}
				if n > 0 && fired == 0 {
					fired, first = outcomes(t, tel, "many")["fired"], n
				}
				return detached && n > first // a suspension may pass while the machine stands still
			})
			if o := outcomes(t, tel, "many"); !detached || fired == 0 || o["fired"] <= fired {
				t.Errorf("detached: %v, %d events before, telemetry says %v", detached, fired, o)
			}
		})
	}
}

// TestMaxCPU checks that a trace within its budget goes on.
func TestMaxCPU(t *testing.T) {
	tel := componenttest.NewTelemetry()
	start(t, 1, tel, func(set receiver.Settings) (component.Component, error) {
		return usdtreceiver.NewFactory().CreateMetrics(t.Context(), set, config(usdtreceiver.Trace{
			Name: "cheap", Probes: []string{"otelshop:sale"}, Target: here(), MaxCPUPercent: 1000, Metrics: &usdtreceiver.Metrics{},
		}), consumertest.NewNop())
	})
	for begun := time.Now(); time.Since(begun) < 3*time.Second; time.Sleep(time.Millisecond) {
		sale.Fire("fig", 1, "")
	}
	if is, n := state(t, tel, "cheap"); is != "all" || n != 0 {
		t.Errorf("the trace is %s, after %d suspensions", is, n)
	}
}

// TestReload checks that a reload of the configuration leaves attached what stays the same.
func TestReload(t *testing.T) {
	needs.Root(t)
	sink := &consumertest.LogsSink{}
	same := usdtreceiver.Trace{Name: "same", Probes: []string{"otelshop:sale"}, Target: here(), MaxEventsPerSecond: 1e6, Logs: &usdtreceiver.Logs{}}
	other := usdtreceiver.Trace{Name: "other", Probes: []string{"otelshop:begin"}, Target: here(), Logs: &usdtreceiver.Logs{}}
	begins := func(traces ...usdtreceiver.Trace) (component.Component, *componenttest.Telemetry) {
		t.Helper()
		tel := componenttest.NewTelemetry()
		set := receivertest.NewNopSettings(usdtreceiver.Type)
		set.ID = component.NewID(usdtreceiver.Type)
		set.TelemetrySettings = tel.NewTelemetrySettings()
		r, err := usdtreceiver.NewFactory().CreateLogs(t.Context(), set, config(traces...), sink)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Start(t.Context(), componenttest.NewNopHost()); err != nil {
			t.Fatal(err)
		}
		return r, tel
	}
	links := func() (out map[uint32]bool) {
		out = map[uint32]bool{}
		for _, l := range bpf.OwnLinks(t) {
			out[uint32(l.ID)] = true
		}
		return out
	}
	ends := func(r component.Component) {
		t.Helper()
		if err := r.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	}
	none := len(links())
	r, tel := begins(same, other)
	eventually(t, "the traces are not attached", func() bool {
		sale.Fire("warm", 0, "")
		return outcomes(t, tel, "same")["fired"] > 0 && begin.Enabled() && len(links()) == none+2
	})
	before := links()
	fired := outcomes(t, tel, "same")["fired"]
	records := sink.LogRecordCount()
	told := make(chan os.Signal, 1) // as the collector is
	signal.Notify(told, syscall.SIGHUP)
	defer signal.Stop(told)
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	<-told
	ends(r)
	const n = 100
	for i := range n { // while there is no receiver
		sale.Fire("meanwhile", int64(i), "")
	}
	other.Where = "id > 5"
	r, tel = begins(other, same)
	eventually(t, "the changed trace is not attached", func() bool { return len(links()) == none+2 })
	kept := 0
	for id := range links() {
		if before[id] {
			kept++
		}
	}
	if kept != none+1 {
		t.Errorf("%d of %d links were kept, want that of one trace", kept-none, len(before)-none)
	}
	eventually(t, "events are missing that fired meanwhile", func() bool { return sink.LogRecordCount() >= records+n })
	if o := outcomes(t, tel, "same"); o["fired"] != fired+n || o["refused"] != 0 {
		t.Errorf("telemetry says %v, want %d events", o, fired+n)
	}
	ends(r)
	if got := len(links()); got != none {
		t.Errorf("%d links are left, want %d", got, none)
	}
}

// TestBudget checks that events beyond the budget are left out and counted, and that a trace which
// fails does not stop another.
func TestBudget(t *testing.T) {
	sink := &consumertest.LogsSink{}
	tel := componenttest.NewTelemetry()
	start(t, 1, tel, func(set receiver.Settings) (component.Component, error) {
		return usdtreceiver.NewFactory().CreateLogs(t.Context(), set, config(
			usdtreceiver.Trace{Probes: []string{"otelshop:sale"}, Target: here(), Where: "nothing_of_that_name > 1", Logs: &usdtreceiver.Logs{}},
			usdtreceiver.Trace{Name: "few", Probes: []string{"otelshop:sale"}, Target: here(), MaxEventsPerSecond: 10, Logs: &usdtreceiver.Logs{}},
		), sink)
	})
	const fired = 500 // not so many that the trace is suspended
	for i := range fired {
		sale.Fire("fig", int64(i), "")
	}
	var o map[string]int64
	eventually(t, "events are not accounted for", func() bool {
		o = outcomes(t, tel, "few")
		return int64(sink.LogRecordCount())+o["over_budget"]+o["lost"] == fired
	})
	if o["fired"] != fired || o["over_budget"] == 0 || sink.LogRecordCount() < 10 {
		t.Errorf("%d records, telemetry says %v", sink.LogRecordCount(), o)
	}
}
