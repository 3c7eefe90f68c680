package usdtreceiver_test

import (
	"fmt"
	"maps"
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/receiver"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/otelcol/usdtreceiver"
)

// indexOf returns the i for which 2^(i/2^scale) ≤ v < 2^((i+1)/2^scale), exactly.
func indexOf(v uint64, scale int) int {
	n := new(big.Int).SetUint64(v)
	return n.Exp(n, big.NewInt(1<<scale), nil).BitLen() - 1
}

// bordersOf returns the least numbers of all buckets of a scale, and the ones before and after these.
func bordersOf(scale int) map[uint64]bool {
	all := map[uint64]bool{0: true, 1: true, math.MaxUint64: true, math.MaxUint64 - 1: true, 1 << 63: true, math.MaxInt64: true}
	for i := range 64 << scale {
		root := new(big.Int).Lsh(big.NewInt(1), uint(i))
		for range scale {
			root.Sqrt(root)
		}
		for d := range uint64(4) { // roots are rounded down
			all[root.Uint64()+d-1] = true
		}
	}
	return all
}

// TestHistogramScales compares the buckets of each scale with a computation by integers, at all borders, for 0
// and the greatest numbers.
func TestHistogramScales(t *testing.T) {
	for scale := range attach.MaxScale + 1 {
		sink := &consumertest.MetricsSink{}
		tel := componenttest.NewTelemetry()
		stop := start(t, 1, tel, func(set receiver.Settings) (component.Component, error) {
			return usdtreceiver.NewFactory().CreateMetrics(t.Context(), set, config(usdtreceiver.Trace{
				Name: "values", Probes: []string{"otelshop:done"}, Target: here(),
				Metrics: &usdtreceiver.Metrics{Value: "id", Show: []string{"histogram"}, Scale: scale, Interval: time.Hour},
			}), sink)
		})
		want, zeros, values := map[int]uint64{}, uint64(0), bordersOf(scale)
		for v := range values {
			if done.Fire(v, true); v == 0 {
				zeros++
			} else {
				want[indexOf(v, scale)]++
			}
		}
		fired(t, tel, "values", int64(len(values)))
		stop()
		p := histogramOf(t, sink, "values.histogram")
		got := map[int]uint64{}
		for i, n := range p.Positive().BucketCounts().All() {
			if n > 0 {
				got[i+int(p.Positive().Offset())] += n
			}
		}
		if !maps.Equal(got, want) {
			for i := range 64 << scale {
				if got[i] != want[i] {
					t.Errorf("scale %d: %d values in bucket %d, want %d", scale, got[i], i, want[i])
				}
			}
		}
		if len(want) < 100 && scale > 0 || int(p.Scale()) != scale || p.ZeroCount() != zeros || p.Count() != uint64(len(values)) || p.Negative().BucketCounts().Len() != 0 {
			t.Errorf("scale %d: %d buckets are tested, scale %d, %d zeros of %d, want %d of %d", scale, len(want), p.Scale(), p.ZeroCount(), p.Count(), zeros, len(values))
		}
	}
}

// TestHistogramNegative compares the buckets of numbers less than 0, at all borders, with a computation by
// integers. There is no sum then.
func TestHistogramNegative(t *testing.T) {
	for scale := range attach.MaxScale + 1 {
		sink := &consumertest.MetricsSink{}
		tel := componenttest.NewTelemetry()
		stop := start(t, 1, tel, func(set receiver.Settings) (component.Component, error) {
			return usdtreceiver.NewFactory().CreateMetrics(t.Context(), set, config(usdtreceiver.Trace{
				Name: "values", Probes: []string{"otelshop:sale"}, Target: here(),
				Metrics: &usdtreceiver.Metrics{Value: "cents", Show: []string{"histogram"}, Scale: scale, Interval: time.Hour},
			}), sink)
		})
		want, count := map[int]uint64{}, uint64(0)
		for amount := range bordersOf(scale) {
			if amount == 0 || amount > 1<<63 {
				continue
			}
			sale.Fire("fig", -int64(amount), "")
			n := new(big.Int).SetUint64(amount)
			want[new(big.Int).Sub(n.Exp(n, big.NewInt(1<<scale), nil), big.NewInt(1)).BitLen()-1]++ // 2^(i/2^scale) < amount
			count++
		}
		for _, cents := range []int64{0, 0, 5} {
			sale.Fire("fig", cents, "")
			count++
		}
		fired(t, tel, "values", int64(count))
		stop()
		p := histogramOf(t, sink, "values.histogram")
		got := map[int]uint64{}
		for i, n := range p.Negative().BucketCounts().All() {
			if n > 0 {
				got[i+int(p.Negative().Offset())] = n
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("scale %d (-want +got):\n%s", scale, d)
		}
		if at := indexOf(5, scale); p.ZeroCount() != 2 || p.ZeroThreshold() != 0 || p.Count() != count || p.HasSum() || int(p.Positive().Offset()) != at || fmt.Sprint(p.Positive().BucketCounts().AsRaw()) != "[1]" {
			t.Errorf("scale %d: %d zeros of %d, sum %v, from %d on %v; want 2 of %d, none, from %d on [1]", scale, p.ZeroCount(), p.Count(), p.HasSum(), p.Positive().Offset(), p.Positive().BucketCounts().AsRaw(), count, at)
		}
	}
}

// histogramOf returns the only point of a histogram.
func histogramOf(t *testing.T, sink *consumertest.MetricsSink, name string) (p pmetric.ExponentialHistogramDataPoint) {
	t.Helper()
	n := 0
	each(sink.AllMetrics(), name, func(_ pmetric.ResourceMetrics, _ pmetric.ScopeMetrics, m pmetric.Metric) {
		n += m.ExponentialHistogram().DataPoints().Len()
		p = m.ExponentialHistogram().DataPoints().At(0)
	})
	if n != 1 {
		t.Fatalf("%d points of %s, want one", n, name)
	}
	return p
}
