package usdtreceiver_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/go-usdt/usdt/internal/systest/bpf"
	"github.com/go-usdt/usdt/internal/systest/leftover"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/otelcol/usdtreceiver"
	"github.com/go-usdt/usdt/provider"
)

// The probes of the program that is traced, which is this one.
var (
	shop  = provider.New("otelshop", nil)
	sale  = provider.NewProbe3[string, int64, string](shop, "sale", "item", "cents", "traceparent")
	begin = provider.NewProbe3[uint64, string, string](shop, "begin", "id", "item", "traceparent")
	done  = provider.NewProbe2[uint64, bool](shop, "done", "id", "ok")
	mark  = provider.NewProbe1[string](shop, "mark", receivertest.UniqueIDAttrName)
	ended = provider.NewProbe0(shop, "ended")
	// slept says how long something took, in four ways.
	slept = provider.NewProbe5[string, time.Duration, uint64, float64, string](shop, "slept", "item", "took", "us", "ms", "traceparent")
)

func TestMain(m *testing.M) {
	if err := provider.LoadAll(nil); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if os.Getenv(contained) != "" {
		obey()
		return
	}
	code := m.Run()
	provider.CloseAll()
	os.Exit(code)
}

const patience = 2 * time.Minute

// eventually waits until f is true.
func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !f(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after %v: %s", patience, what)
		}
	}
}

// here is this process.
func here() usdtreceiver.Target { return usdtreceiver.Target{PIDs: []int{os.Getpid()}} }

// start starts a receiver, and returns when it has attached to so many more sites. stop returns
// when it has handed on all that it had.
func start(t *testing.T, links int, tel *componenttest.Telemetry, create func(receiver.Settings) (component.Component, error)) (stop func()) {
	t.Helper()
	needs.Root(t)
	before, open, goroutines := len(bpf.OwnLinks(t)), leftover.Descriptors(t), goleak.IgnoreCurrent()
	set := receivertest.NewNopSettings(usdtreceiver.Type)
	if tel != nil {
		set.TelemetrySettings = tel.NewTelemetrySettings()
	}
	r, err := create(set)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Start(t.Context(), componenttest.NewNopHost()); err != nil {
		t.Fatal(err)
	}
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		if err := r.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		leftover.Back(t, open)
		eventually(t, "goroutines are left", func() bool { return goleak.Find(goroutines) == nil })
	}
	t.Cleanup(stop)
	eventually(t, "the receiver has not attached", func() bool { return len(bpf.OwnLinks(t)) >= before+links })
	return stop
}

// TestSaid checks what the collector's log says of traces that wait for a probe, and of ones whose processes end.
func TestSaid(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	traced := exec.Command(exe)
	traced.Env = append(os.Environ(), contained+"=1")
	in, err := traced.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := traced.Start(); err != nil {
		t.Fatal(err)
	}
	defer traced.Process.Kill()
	core, said := observer.New(zap.InfoLevel)
	start(t, 1, nil, func(set receiver.Settings) (component.Component, error) {
		set.Logger = zap.New(core)
		return usdtreceiver.NewFactory().CreateLogs(t.Context(), set, config(
			usdtreceiver.Trace{Name: "waits", Probes: []string{"otelshop:nobody_has_this"}, Target: here(), Logs: &usdtreceiver.Logs{}},
			usdtreceiver.Trace{Name: "ends", Probes: []string{"otelshop:sale"}, Target: usdtreceiver.Target{PIDs: []int{traced.Process.Pid}}, Logs: &usdtreceiver.Logs{}},
		), consumertest.NewNop())
	})
	says := func(trace, text string) func() bool {
		return func() bool {
			return slices.ContainsFunc(said.All(), func(e observer.LoggedEntry) bool {
				return e.ContextMap()["trace"] == trace && strings.Contains(fmt.Sprint(e.Message, e.ContextMap()["error"]), text)
			})
		}
	}
	eventually(t, "nothing is said of a probe that nobody has", says("waits", "nobody_has_this"))
	in.Close()
	if err := traced.Wait(); err != nil {
		t.Error(err)
	}
	eventually(t, "nothing is said of a process that has ended", says("ends", "have ended"))
	if failed := said.FilterLevelExact(zap.ErrorLevel).All(); len(failed) > 0 {
		t.Errorf("%+v", failed)
	}
}

// outcomes returns what the collector's own telemetry says of the events of a trace.
func outcomes(t *testing.T, tel *componenttest.Telemetry, trace string) map[string]int64 {
	t.Helper()
	m, err := tel.GetMetric("otelcol_usdt_events")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]int64{}
	for _, p := range m.Data.(metricdata.Sum[int64]).DataPoints {
		signal, _ := p.Attributes.Value("signal")
		if name, _ := p.Attributes.Value("trace"); name.AsString() == trace && signal.AsString() != "" {
			outcome, _ := p.Attributes.Value("outcome")
			out[outcome.AsString()] = p.Value
		}
	}
	return out
}

// fired waits until telemetry says that a trace has seen so many events.
func fired(t *testing.T, tel *componenttest.Telemetry, trace string, n int64) {
	t.Helper()
	eventually(t, "telemetry does not count what has fired", func() bool { return outcomes(t, tel, trace)["fired"] == n })
}

func config(traces ...usdtreceiver.Trace) *usdtreceiver.Config {
	return &usdtreceiver.Config{Traces: traces}
}
