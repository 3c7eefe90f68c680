package usdtreceiver

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/otelcol/usdtreceiver/internal/metadata"
)

// telemetry is what the collector says of itself: what became of the events of each trace.
type telemetry struct {
	builder *metadata.TelemetryBuilder
	mu      sync.Mutex
	traces  []*counts
}

// counts are the counts of one trace.
type counts struct {
	attributes          attribute.Set
	each                uint64        // how many events become one: two for a pair
	overBudget, refused atomic.Uint64 // of what they become, as are
	others              atomic.Uint64 // the ones beyond max_groups
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

// setShare keeps which part of its target's processor time a session takes.
func (c *counts) setShare(part float64) { c.share.Store(math.Float64bits(part)) }

func (c *counts) setState(state int32) {
	if c.state.Swap(state) != state && state == stateSuspended {
		c.suspensions.Add(1)
	}
}

// newTelemetry begins to give the metrics that metadata.yaml describes.
func newTelemetry(set component.TelemetrySettings) (*telemetry, error) {
	builder, err := metadata.NewTelemetryBuilder(set)
	if err != nil {
		return nil, err
	}
	t := &telemetry{builder: builder}
	return t, errors.Join(
		builder.RegisterUsdtEventsCallback(func(_ context.Context, o metric.Int64Observer) error {
			t.each(func(c *counts) {
				st := c.stats()
				for outcome, n := range map[string]uint64{
					"fired": st.Fired, "received": st.Received, "lost": st.Lost, "filtered": st.Filtered, "missed": st.Missed, "unread": st.Unread,
					"over_budget": c.each * c.overBudget.Load(), "refused": c.each * c.refused.Load(), "other": c.each * c.others.Load(),
				} {
					o.Observe(int64(n), metric.WithAttributeSet(c.attributes), metric.WithAttributes(attribute.String("outcome", outcome)))
				}
			})
			return nil
		}),
		builder.RegisterUsdtStateCallback(func(_ context.Context, o metric.Int64Observer) error {
			t.each(func(c *counts) {
				now := c.state.Load()
				for i, word := range states {
					is := int64(0)
					if int32(i) == now {
						is = 1
					}
					o.Observe(is, metric.WithAttributeSet(c.attributes), metric.WithAttributes(attribute.String("state", word)))
				}
			})
			return nil
		}),
		builder.RegisterUsdtSuspensionsCallback(func(_ context.Context, o metric.Int64Observer) error {
			t.each(func(c *counts) { o.Observe(int64(c.suspensions.Load()), metric.WithAttributeSet(c.attributes)) })
			return nil
		}),
		builder.RegisterUsdtCPUUtilizationCallback(func(_ context.Context, o metric.Float64Observer) error {
			t.each(func(c *counts) {
				o.Observe(math.Float64frombits(c.share.Load()), metric.WithAttributeSet(c.attributes))
			})
			return nil
		}),
	)
}

// each calls f with the counts of each trace.
func (t *telemetry) each(f func(*counts)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.traces {
		f(c)
	}
}

// newCounts begins to count for a trace, which may be of several signals.
func newCounts(t *Trace, signal string) *counts {
	c := &counts{attributes: attribute.NewSet(attribute.String("trace", t.title()), attribute.String("signal", signal)), each: 1}
	if signal == "metrics" && t.Metrics.latency() || signal == "traces" && t.Spans.Duration == "" {
		c.each = 2
	}
	return c
}

// add tells counts.
func (t *telemetry) add(c *counts) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.traces = append(t.traces, c)
}

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
