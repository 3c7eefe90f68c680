package usdtreceiver

import (
	"fmt"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/total"
)

// TestSharedName checks that no two points of a metric have equal attributes, of which receivers would
// keep one, where several probes share a name.
func TestSharedName(t *testing.T) {
	probe := func(name string) []event.Arg { return []event.Arg{{Name: "probe", Value: name}} }
	groups := []total.Group{
		{By: probe("shop:sale"), Count: 1}, {By: probe("shop:return"), Count: 2}, {By: probe("shop:visit"), Count: 4}, {Other: true, Count: 8},
	}
	for _, probes := range [][]string{{"shop:*"}, {"shop:sale", "shop:return", "shop:visit"}} {
		for _, name := range []string{"", "trade"} {
			task := &metricsTask{trace: &Trace{Name: name, Probes: probes, Metrics: &Metrics{}}}
			seen, sum := map[string]bool{}, int64(0)
			each(task.metrics(&env{resources: newResources()}, groups, time.Now(), time.Now()), func(scope pmetric.ScopeMetrics, m pmetric.Metric) {
				for i := range m.Sum().DataPoints().Len() {
					p := m.Sum().DataPoints().At(i)
					key := fmt.Sprint(scope.Scope().Name(), m.Name(), p.Attributes().AsRaw())
					if seen[key] {
						t.Errorf("%v called %q: two points of %s", probes, name, key)
					}
					seen[key], sum = true, sum+p.IntValue()
				}
			})
			if sum != 15 {
				t.Errorf("%v called %q: %d events in %v, want 15", probes, name, sum, seen)
			}
		}
	}
}

func each(all pmetric.Metrics, f func(pmetric.ScopeMetrics, pmetric.Metric)) {
	for i := range all.ResourceMetrics().Len() {
		r := all.ResourceMetrics().At(i)
		for j := range r.ScopeMetrics().Len() {
			s := r.ScopeMetrics().At(j)
			for k := range s.Metrics().Len() {
				f(s, s.Metrics().At(k))
			}
		}
	}
}
