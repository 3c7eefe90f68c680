package usdtreceiver_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/receiver"

	"github.com/go-usdt/usdt/otelcol/usdtreceiver"
)

// TestRefusedMetrics checks that telemetry counts the events that a pipeline has refused: all if points
// are those of an interval, none if they come again, and all that do not come again.
func TestRefusedMetrics(t *testing.T) {
	var refusing atomic.Bool
	var asked, got atomic.Int64
	begin := func(t *testing.T, one usdtreceiver.Trace) (outcome func(string) int64) {
		refusing.Store(true)
		asked.Store(0)
		got.Store(0)
		sink, err := consumer.NewMetrics(func(_ context.Context, all pmetric.Metrics) error {
			asked.Add(1)
			if refusing.Load() {
				return consumererror.NewPermanent(errors.New("no"))
			}
			count, _, _ := numbers([]pmetric.Metrics{all}, "otelshop.sale.count", "")
			if one.Metrics.Temporality == "delta" {
				got.Add(count[""])
			} else {
				got.Store(count[""])
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		tel := componenttest.NewTelemetry()
		one.Probes, one.Target = []string{"otelshop:sale"}, here()
		start(t, 1, tel, func(set receiver.Settings) (component.Component, error) {
			return usdtreceiver.NewFactory().CreateMetrics(t.Context(), set, config(one), sink)
		})
		return func(what string) int64 { return outcomes(t, tel, "otelshop:sale")[what] }
	}
	for _, temporality := range []string{"delta", "cumulative"} {
		t.Run(temporality, func(t *testing.T) {
			outcome := begin(t, usdtreceiver.Trace{Metrics: &usdtreceiver.Metrics{Interval: 20 * time.Millisecond, Temporality: temporality}})
			refused, fired := int64(0), int64(0)
			eventually(t, "the pipeline is not asked", func() bool { sale.Fire("fig", 1, ""); fired++; return asked.Load() > 3 })
			if temporality == "delta" {
				eventually(t, "not all are counted as refused", func() bool { refused = outcome("refused"); return refused == fired })
			}
			refusing.Store(false)
			for range 100 {
				sale.Fire("fig", 1, "")
				fired++
			}
			eventually(t, "the rest is not handed on", func() bool { return got.Load()+refused == fired })
			if n := outcome("refused"); n != refused {
				t.Errorf("%d of %d events are refused, want %d", n, fired, refused)
			}
		})
	}
	t.Run("the end", func(t *testing.T) {
		outcome := begin(t, usdtreceiver.Trace{Suspension: time.Hour, MaxCPUPercent: 1e-6, Metrics: &usdtreceiver.Metrics{Interval: 20 * time.Millisecond}})
		eventually(t, "what a suspended trace had is not counted as refused", func() bool {
			if sale.Enabled() {
				sale.Fire("fig", 1, "")
				return false
			}
			return outcome("received") > 0 && outcome("refused") == outcome("received")
		})
	})
}
