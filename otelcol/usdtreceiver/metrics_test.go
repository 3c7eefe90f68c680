package usdtreceiver_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/receiver"

	"github.com/go-usdt/usdt/otelcol/usdtreceiver"
)

// numbers returns the points of the newest metric of a name, by the value of an attribute.
func numbers(all []pmetric.Metrics, name, attribute string) (sum map[string]int64, scope string, resource pcommon.Map) {
	sum = map[string]int64{}
	each(all, name, func(r pmetric.ResourceMetrics, s pmetric.ScopeMetrics, m pmetric.Metric) {
		scope, resource = s.Scope().Name(), r.Resource().Attributes()
		points := m.Gauge().DataPoints
		delta := false
		if m.Type() == pmetric.MetricTypeSum {
			points = m.Sum().DataPoints
			delta = m.Sum().AggregationTemporality() == pmetric.AggregationTemporalityDelta
		}
		for i := range points().Len() {
			p := points().At(i)
			key := ""
			if v, ok := p.Attributes().Get(attribute); ok {
				key = v.AsString()
			}
			if delta {
				sum[key] += p.IntValue()
			} else {
				sum[key] = p.IntValue()
			}
		}
	})
	return sum, scope, resource
}

func each(all []pmetric.Metrics, name string, f func(pmetric.ResourceMetrics, pmetric.ScopeMetrics, pmetric.Metric)) {
	for _, one := range all {
		for i := range one.ResourceMetrics().Len() {
			r := one.ResourceMetrics().At(i)
			for j := range r.ScopeMetrics().Len() {
				s := r.ScopeMetrics().At(j)
				for k := range s.Metrics().Len() {
					if m := s.Metrics().At(k); m.Name() == name {
						f(r, s, m)
					}
				}
			}
		}
	}
}

// TestMetrics compares metrics with what the program counted itself.
func TestMetrics(t *testing.T) {
	for _, temporality := range []string{"cumulative", "delta"} {
		t.Run(temporality, func(t *testing.T) {
			sink := &consumertest.MetricsSink{}
			tel := componenttest.NewTelemetry()
			stop := start(t, 1, tel, func(set receiver.Settings) (component.Component, error) {
				return usdtreceiver.NewFactory().CreateMetrics(t.Context(), set, config(usdtreceiver.Trace{
					Probes: []string{"otelshop:sale"}, Target: here(), Where: "cents != 666",
					Metrics: &usdtreceiver.Metrics{Value: "cents", Show: []string{"sum", "min", "max", "histogram"}, By: []string{"item"}, Interval: 20 * time.Millisecond, Temporality: temporality, Process: true, Unit: "cent"},
				}), sink)
			})
			var count, sum atomic.Int64
			for i := range 500 {
				sale.Fire("apple", int64(i), "")
				sale.Fire("pear", 1000, "")
				sale.Fire("pear", 666, "")
				count.Add(1)
				sum.Add(int64(i))
			}
			fired(t, tel, "otelshop:sale", 1500)
			stop()
			all := sink.AllMetrics()
			counts, scope, resource := numbers(all, "otelshop.sale.count", "item")
			if counts["apple"] != count.Load() || counts["pear"] != count.Load() || len(counts) != 2 || scope != "otelshop" {
				t.Errorf("counts %v, scope %q, want %d of each", counts, scope, count.Load())
			}
			if pid, _ := resource.Get("process.pid"); pid.Int() != int64(os.Getpid()) {
				t.Errorf("resource %v, want process %d", resource.AsRaw(), os.Getpid())
			}
			exe, _ := os.Executable()
			if name, _ := resource.Get("process.executable.name"); name.Str() != filepath.Base(exe) {
				t.Errorf("resource %v, want %s", resource.AsRaw(), exe)
			}
			if sums, _, _ := numbers(all, "otelshop.sale.sum", "item"); sums["apple"] != sum.Load() || sums["pear"] != 1000*count.Load() {
				t.Errorf("sums %v, want %d", sums, sum.Load())
			}
			if most, _, _ := numbers(all, "otelshop.sale.max", "item"); most["apple"] != 499 || most["pear"] != 1000 {
				t.Errorf("greatest %v", most)
			}
			buckets := map[string]map[int]uint64{}
			each(all, "otelshop.sale.histogram", func(_ pmetric.ResourceMetrics, _ pmetric.ScopeMetrics, m pmetric.Metric) {
				h := m.ExponentialHistogram()
				if m.Unit() != "cent" {
					t.Errorf("unit %q", m.Unit())
				}
				for i := range h.DataPoints().Len() {
					p := h.DataPoints().At(i)
					item, _ := p.Attributes().Get("item")
					if buckets[item.Str()] == nil || temporality == "cumulative" {
						buckets[item.Str()] = map[int]uint64{}
					}
					b := buckets[item.Str()]
					b[-1] += p.ZeroCount()
					for j := range p.Positive().BucketCounts().Len() {
						b[j+int(p.Positive().Offset())] += p.Positive().BucketCounts().At(j)
					}
					if p.Scale() != 0 {
						t.Errorf("scale %d", p.Scale())
					}
				}
			})
			want := "map[apple:map[-1:1 0:1 1:2 2:4 3:8 4:16 5:32 6:64 7:128 8:244] pear:map[-1:0 9:500]]"
			if got := fmt.Sprint(buckets); got != want {
				t.Errorf("buckets %s, want %s", got, want)
			}
		})
	}
}

// TestBeyondMaxGroups checks that groups beyond the bound are added up, and nothing is lost.
func TestBeyondMaxGroups(t *testing.T) {
	sink := &consumertest.MetricsSink{}
	tel := componenttest.NewTelemetry()
	stop := start(t, 1, tel, func(set receiver.Settings) (component.Component, error) {
		return usdtreceiver.NewFactory().CreateMetrics(t.Context(), set, config(usdtreceiver.Trace{
			Name: "sales", Probes: []string{"otelshop:sale"}, Target: here(), Metrics: &usdtreceiver.Metrics{By: []string{"item"}, MaxGroups: 3, Interval: 20 * time.Millisecond},
		}), sink)
	})
	for i := range 100 {
		sale.Fire(fmt.Sprint(i%10), 1, "")
	}
	fired(t, tel, "sales", 100)
	eventually(t, "telemetry does not count the other groups", func() bool {
		counts, _, _ := numbers(sink.AllMetrics(), "sales.count", "item")
		return counts["(other)"] > 0 && outcomes(t, tel, "sales")["other"] == counts["(other)"]
	})
	stop()
	counts, _, _ := numbers(sink.AllMetrics(), "sales.count", "item")
	sum := int64(0)
	for _, n := range counts {
		sum += n
	}
	if sum != 100 || counts["(other)"] == 0 || len(counts) > 4 {
		t.Errorf("counts %v, want 3 groups and (other), 100 in all", counts)
	}
}

// TestLatencyOfAll counts pairs that have no groups.
func TestLatencyOfAll(t *testing.T) {
	sink := &consumertest.MetricsSink{}
	start(t, 1, nil, func(set receiver.Settings) (component.Component, error) {
		return usdtreceiver.NewFactory().CreateMetrics(t.Context(), set, config(usdtreceiver.Trace{
			Name: "all", Target: here(), Metrics: &usdtreceiver.Metrics{Start: "otelshop:begin", End: "otelshop:done", Interval: 20 * time.Millisecond},
		}), sink)
	})
	eventually(t, "no pair is counted", func() bool {
		begin.Fire(1, "", "")
		done.Fire(1, true)
		counts, _, _ := numbers(sink.AllMetrics(), "all.count", "item")
		return counts[""] > 0
	})
}

// TestLatency compares the number of pairs and their groups.
func TestLatency(t *testing.T) {
	sink := &consumertest.MetricsSink{}
	start(t, 1, nil, func(set receiver.Settings) (component.Component, error) {
		return usdtreceiver.NewFactory().CreateMetrics(t.Context(), set, config(usdtreceiver.Trace{
			Target: here(), Metrics: &usdtreceiver.Metrics{Start: "otelshop:begin", End: "otelshop:done", Key: []string{"id"}, By: []string{"item"}, Interval: 20 * time.Millisecond},
		}), sink)
	})
	counted := func(item string) int64 {
		counts, _, _ := numbers(sink.AllMetrics(), "otelshop.begin.count", "item")
		return counts[item]
	}
	fire := func(id uint64, item string) {
		begin.Fire(id, item, "")
		done.Fire(id, true)
	}
	eventually(t, "no pair is counted", func() bool { fire(1, "first"); return counted("first") > 0 })
	for i := range uint64(200) {
		fire(i, "then")
	}
	eventually(t, "the pairs are not counted", func() bool { return counted("then") >= 200 })
	if n := counted("then"); n != 200 {
		t.Errorf("%d pairs, want 200", n)
	}
	least, _, _ := numbers(sink.AllMetrics(), "otelshop.begin.min", "item")
	if most, _, _ := numbers(sink.AllMetrics(), "otelshop.begin.max", "item"); least["then"] <= 0 || most["then"] < least["then"] {
		t.Errorf("from %d to %d ns", least["then"], most["then"])
	}
}
