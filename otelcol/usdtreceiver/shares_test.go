package usdtreceiver_test

import (
	"runtime"
	"testing"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/receiver"

	"github.com/go-usdt/usdt/internal/sys"
	"github.com/go-usdt/usdt/otelcol/usdtreceiver"
)

// TestShares checks that a receiver takes no more of its target's processor time than it may: the trace
// of an event that fires all the time is suspended again and again, that of a rare one goes on.
func TestShares(t *testing.T) {
	traced := func(percent float64) *usdtreceiver.Config {
		cfg := config(
			usdtreceiver.Trace{Name: "dear", Probes: []string{"otelshop:done"}, Target: here(), Suspension: time.Second, Metrics: &usdtreceiver.Metrics{By: []string{"id"}}},
			usdtreceiver.Trace{Name: "cheap", Probes: []string{"otelshop:ended"}, Target: here(), Suspension: time.Second, Metrics: &usdtreceiver.Metrics{}},
		)
		cfg.MaxCPUPercent = percent
		return cfg
	}
	run := func(cfg *usdtreceiver.Config, rounds int) (took time.Duration, dear, cheap int64) {
		tel := componenttest.NewTelemetry()
		stop := start(t, 2, tel, func(set receiver.Settings) (component.Component, error) {
			return usdtreceiver.NewFactory().CreateMetrics(t.Context(), set, cfg, consumertest.NewNop())
		})
		defer stop()
		took = perEvent(rounds)
		_, dear = state(t, tel, "dear")
		_, cheap = state(t, tel, "cheap")
		return took, dear, cheap
	}
	const allowed = 10
	without := perEvent(3)
	unbounded, dear, cheap := run(traced(0), 3)
	if dear+cheap != 0 {
		t.Errorf("%d and %d suspensions without a budget", dear, cheap)
	}
	if unbounded < without*3/2 {
		t.Fatalf("an event takes %v, and %v with a trace: too little to compare", without, unbounded)
	}
	bounded, dear, cheap := run(traced(allowed), 25)
	t.Logf("an event takes %v; with traces %v, within the budget %v after %d suspensions", without, unbounded, bounded, dear)
	// On a busy machine an attempt to go on takes longer than the second after which it is looked at.
	if most := (without + unbounded) / 2; bounded > most {
		t.Errorf("an event takes %v, want at most %v: %v without traces, %v with unbounded ones", bounded, most, without, unbounded)
	}
	if dear == 0 || cheap != 0 {
		t.Errorf("%d suspensions of the dear trace, %d of the cheap one", dear, cheap)
	}
}

// perEvent returns what an event takes of the processor time of its thread, together with less work
// than that, while it fires for some seconds.
func perEvent(seconds int) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	events, before := 0, sys.ThreadTime()
	for began := time.Now(); time.Since(began) < time.Duration(seconds)*time.Second; {
		for range 10_000 {
			done.Fire(1, true)
			w := work // in a register
			for i := range uint64(300) {
				w += i ^ w
			}
			work = w
			events++
		}
		ended.Fire()
	}
	return (sys.ThreadTime() - before) / time.Duration(events)
}

var work uint64
