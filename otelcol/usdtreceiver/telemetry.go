package usdtreceiver

import (
	"context"
	"math"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/go-usdt/usdt/attach"
)

// telemetry is what the collector says of itself: what became of the events of each trace.
type telemetry struct {
	mu           sync.Mutex
	traces       []*counts
	registration metric.Registration
}

// counts are those of one trace.
type counts struct {
	attributes          attribute.Set
	overBudget, refused atomic.Uint64
	state               atomic.Int32
	suspensions         atomic.Uint64
	share               atomic.Uint64 // a float64

	mu     sync.Mutex
	before attach.Stats // of sessions that have ended
	tracer attach.Tracer
}

// States of a trace.
const (
	stateAll = iota
	stateSampled
	stateSuspended
	stateFailed
)

// states are their words.
var states = [...]string{stateAll: "all", stateSampled: "sampled", stateSuspended: "suspended", stateFailed: "failed"}

// The metrics are described in metadata.yaml: stateMetric is 1 for what a trace does, suspensionsMetric
// counts how often it was suspended, shareMetric is what it takes if that is bounded.
const (
	stateMetric       = "otelcol_usdt_state"
	suspensionsMetric = "otelcol_usdt_suspensions"
	shareMetric       = "otelcol_usdt_cpu_utilization"
)

// setShare keeps which part of its target's processor time a session takes.
func (c *counts) setShare(part float64) { c.share.Store(math.Float64bits(part)) }

func (c *counts) setState(state int32) {
	if c.state.Swap(state) != state && state == stateSuspended {
		c.suspensions.Add(1)
	}
}

// eventsMetric counts events by outcome, as metadata.yaml describes it.
const eventsMetric = "otelcol_usdt_events"

func newTelemetry(set component.TelemetrySettings) (*telemetry, error) {
	t := &telemetry{}
	meter := set.MeterProvider.Meter(scopeName)
	events, err := meter.Int64ObservableCounter(eventsMetric,
		metric.WithDescription("Events of probes by what became of them."), metric.WithUnit("{event}"))
	if err != nil {
		return nil, err
	}
	state, err := meter.Int64ObservableGauge(stateMetric, metric.WithDescription("1 for what a trace does at the moment."), metric.WithUnit("1"))
	if err != nil {
		return nil, err
	}
	suspensions, err := meter.Int64ObservableCounter(suspensionsMetric, metric.WithDescription("How often traces were suspended."), metric.WithUnit("{suspension}"))
	if err != nil {
		return nil, err
	}
	share, err := meter.Float64ObservableGauge(shareMetric, metric.WithDescription("What a trace takes of its target's processor time, where max_cpu_percent bounds it."), metric.WithUnit("1"))
	if err != nil {
		return nil, err
	}
	t.registration, err = meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		t.mu.Lock()
		defer t.mu.Unlock()
		for _, c := range t.traces {
			st := c.stats()
			for outcome, n := range map[string]uint64{
				"fired": st.Fired, "received": st.Received, "lost": st.Lost, "filtered": st.Filtered, "missed": st.Missed, "unread": st.Unread,
				"over_budget": c.overBudget.Load(), "refused": c.refused.Load(),
			} {
				o.ObserveInt64(events, int64(n), metric.WithAttributeSet(c.attributes), metric.WithAttributes(attribute.String("outcome", outcome)))
			}
			now := c.state.Load()
			for i, word := range states {
				is := int64(0)
				if int32(i) == now {
					is = 1
				}
				o.ObserveInt64(state, is, metric.WithAttributeSet(c.attributes), metric.WithAttributes(attribute.String("state", word)))
			}
			o.ObserveInt64(suspensions, int64(c.suspensions.Load()), metric.WithAttributeSet(c.attributes))
			o.ObserveFloat64(share, math.Float64frombits(c.share.Load()), metric.WithAttributeSet(c.attributes))
		}
		return nil
	}, events, state, suspensions, share)
	return t, err
}

// newCounts begins to count for a trace, which may be of several signals.
func newCounts(name, signal string) *counts {
	return &counts{attributes: attribute.NewSet(attribute.String("trace", name), attribute.String("signal", signal))}
}

// add tells counts.
func (t *telemetry) add(c *counts) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.traces = append(t.traces, c)
}

func (t *telemetry) Close() error { return t.registration.Unregister() }

// begin counts what a session does.
func (c *counts) begin(tracer attach.Tracer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tracer = tracer
}

// end keeps the counts of a session that has been closed.
func (c *counts) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if st, err := c.tracer.Stats(); err == nil {
		c.before.Add(st)
	}
	c.tracer = nil
}

func (c *counts) stats() attach.Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	sum := c.before
	if c.tracer != nil {
		if st, err := c.tracer.Stats(); err == nil {
			sum.Add(st)
		}
	}
	return sum
}
