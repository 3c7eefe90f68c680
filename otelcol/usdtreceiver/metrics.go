package usdtreceiver

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/reader"
	"github.com/go-usdt/usdt/total"
)

// metricsTask delivers what the kernel has added up.
type metricsTask struct {
	trace *Trace
	units *units
}

func (t *metricsTask) of() *Trace { return t.trace }

func (t *metricsTask) signal() string { return "metrics" }

// totals are an Aggregate or a Latency.
type totals interface {
	attach.Tracer
	Read() ([]total.Group, error)
	Total() ([]total.Group, error)
	Done() <-chan struct{}
}

// open attaches.
func (t *metricsTask) open(ctx context.Context) (totals, error) {
	m := t.trace.Metrics
	if m.Start != "" {
		return attach.OpenLatency(ctx, m.Start, m.End, t.trace.latencyOptions(), t.trace.options())
	}
	return attach.OpenAggregate(ctx, t.trace.Probes, t.trace.aggregation(), t.trace.options())
}

func (t *metricsTask) run(ctx context.Context, e *env) error {
	s, err := opening(ctx, e, func() (totals, error) { return t.open(ctx) })
	if err != nil {
		return ended(ctx, err)
	}
	defer e.attached(s)()
	t.units = newUnits(t.trace.Metrics.Value)
	delta := t.trace.Metrics.Temporality == "delta"
	begun := time.Now()
	read := s.Total
	if delta {
		read = s.Read
	} else if _, err := s.Total(); err != nil {
		return ended(ctx, err, s.Close())
	}
	rest := newOthers(e, delta)
	var counted, handedOn uint64 // events until now
	give := func() error {
		now := time.Now()
		groups, err := read()
		rest.see(groups)
		t.units.learn(s, groups)
		events := eventsIn(groups)
		lost := events
		if !delta { // what is refused comes again
			counted, lost = events, 0
		}
		if len(groups) > 0 && deliver(ctx, e, lost, func(ctx context.Context, next any) error {
			return next.(consumer.Metrics).ConsumeMetrics(ctx, t.metrics(e, groups, begun, now))
		}) {
			handedOn = counted
		}
		if delta {
			begun = now
		}
		return err
	}
	err = every(ctx, s, cmp.Or(t.trace.Metrics.Interval, defaultInterval), give)
	e.counts.refused.Add(counted - handedOn)
	return err
}

// eventsIn returns how many events groups have.
func eventsIn(groups []total.Group) (n uint64) {
	for i := range groups {
		n += groups[i].Count
	}
	return n
}

// every calls give at intervals until s is done, and then once more for the events since the last time.
func every(ctx context.Context, s totals, interval time.Duration, give func() error) error {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if err := give(); err != nil {
				return ended(ctx, err, s.Close())
			}
		case <-s.Done():
			return ended(ctx, errors.Join(s.Stop(), give(), s.Close()))
		}
	}
}

// shows returns what is computed: of histograms also the sum, without which Prometheus has none.
func (m *Metrics) shows() []string {
	if slices.Contains(m.Show, "histogram") && !slices.Contains(m.Show, "sum") {
		return append(slices.Clone(m.Show), "sum")
	}
	return m.Show
}

// other is the value of keys of the events beyond MaxGroups.
const other = "(other)"

// metrics returns the groups as metrics.
func (t *metricsTask) metrics(e *env, groups []total.Group, begun, now time.Time) pmetric.Metrics {
	b := &metricBuilder{t: t, e: e, out: pmetric.NewMetrics(), resources: map[int]pmetric.ResourceMetrics{}, scopes: map[scopeKey]pmetric.ScopeMetrics{}, metrics: map[metricKey]pmetric.Metric{},
		begun: pcommon.NewTimestampFromTime(begun), now: pcommon.NewTimestampFromTime(now)}
	for i := range groups {
		b.add(&groups[i])
	}
	return b.out
}

// metricBuilder has each resource, scope and metric once.
type metricBuilder struct {
	t          *metricsTask
	e          *env
	out        pmetric.Metrics
	begun, now pcommon.Timestamp
	resources  map[int]pmetric.ResourceMetrics
	scopes     map[scopeKey]pmetric.ScopeMetrics
	metrics    map[metricKey]pmetric.Metric
}

type (
	scopeKey struct {
		pid      int
		provider string
	}
	metricKey struct {
		scopeKey
		name string
	}
)

// add adds the metrics of a group.
func (b *metricBuilder) add(g *total.Group) {
	m := b.t.trace.Metrics
	keys, key := g.By, scopeKey{}
	probe := m.Start
	if m.Start == "" && !g.Other {
		probe = text(keys[0].Value)
		if keys = keys[1:]; m.Process {
			key.pid = pidOf(keys[0].Value)
			keys = keys[1:]
		}
	}
	if g.Other {
		keys = nil
		for _, name := range m.By {
			keys = append(keys, event.Arg{Name: name, Value: other})
		}
		if probe == "" {
			probe = b.t.trace.Probes[0]
		}
	}
	provider, name := split(probe)
	key.provider = provider
	if len(b.t.trace.Probes) == 0 || g.Other { // a selector, which may have a path
		key.provider = key.provider[strings.LastIndexByte(key.provider, ':')+1:]
	}
	if g.Other && len(b.t.trace.Probes) > 1 {
		key.provider, name = "usdt", other
	}
	if b.t.trace.shareName() {
		which := probe
		if g.Other {
			which = other
		}
		keys = append([]event.Arg{{Name: "probe", Value: which}}, keys...)
	}
	base := b.t.trace.called(key.provider, name)
	b.number(key, base+".count", "{event}", true, keys, g.Count)
	unit := m.Unit
	if unit == "" && (g.Meaning == reader.Duration || m.Start != "") {
		unit = "ns"
	}
	if unit == "" {
		unit = b.t.units.of(probe)
	}
	if m.Start != "" || slices.Contains(m.Show, "sum") {
		b.number(key, base+".sum", unit, true, keys, g.Sum)
	}
	if m.Start != "" || slices.Contains(m.Show, "min") {
		b.number(key, base+".min", unit, false, keys, g.Min)
	}
	if m.Start != "" || slices.Contains(m.Show, "max") {
		b.number(key, base+".max", unit, false, keys, g.Max)
	}
	if len(g.Hist) > 0 {
		b.histogram(key, base+".histogram", unit, keys, g)
	}
}

// shareName reports whether what several probes make may have one name, so that only an attribute tells
// them apart: of two points with equal ones, receivers keep one.
func (t *Trace) shareName() bool {
	return t.Name != "" && (len(t.Probes) > 1 || len(t.Probes) == 1 && strings.ContainsAny(t.Probes[0], "*?["))
}

// split returns the two parts of a probe's name.
func split(probe string) (provider, name string) {
	name = probe[strings.LastIndexByte(probe, ':')+1:]
	return strings.TrimSuffix(probe[:len(probe)-len(name)], ":"), name
}

// text returns the value of a key that is text.
func text(v any) string {
	s, _ := v.(string)
	return s
}

// pidOf returns the value of a key that is the number of a process, 0 if it is not known.
func pidOf(v any) int {
	switch pid := v.(type) {
	case uint64:
		return int(pid)
	case int64:
		return int(pid)
	}
	return 0
}

// metric returns the metric of a name, which make makes if it is new.
func (b *metricBuilder) metric(key scopeKey, name, unit string, make func(pmetric.Metric)) pmetric.Metric {
	m, ok := b.metrics[metricKey{key, name}]
	if ok {
		return m
	}
	scope, ok := b.scopes[key]
	if !ok {
		r, ok := b.resources[key.pid]
		if !ok {
			r = b.out.ResourceMetrics().AppendEmpty()
			b.e.resources.process(r.Resource(), key.pid)
			b.resources[key.pid] = r
		}
		scope = r.ScopeMetrics().AppendEmpty()
		scope.Scope().SetName(utf8(key.provider))
		b.scopes[key] = scope
	}
	m = scope.Metrics().AppendEmpty()
	m.SetName(name)
	m.SetUnit(unit)
	make(m)
	b.metrics[metricKey{key, name}] = m
	return m
}

func (b *metricBuilder) temporality() pmetric.AggregationTemporality {
	if b.t.trace.Metrics.Temporality == "delta" {
		return pmetric.AggregationTemporalityDelta
	}
	return pmetric.AggregationTemporalityCumulative
}

// number adds a point of a sum, or of a gauge. Counts and times never decrease; other values may be
// less than 0.
func (b *metricBuilder) number(key scopeKey, name, unit string, sum bool, keys []event.Arg, v any) {
	if v == nil {
		return
	}
	m := b.metric(key, name, unit, func(m pmetric.Metric) {
		if !sum {
			m.SetEmptyGauge()
			return
		}
		s := m.SetEmptySum()
		s.SetAggregationTemporality(b.temporality())
		s.SetIsMonotonic(strings.HasSuffix(name, ".count") || b.t.trace.Metrics.Start != "")
	})
	var p pmetric.NumberDataPoint
	if sum {
		p = m.Sum().DataPoints().AppendEmpty()
	} else {
		p = m.Gauge().DataPoints().AppendEmpty()
	}
	p.SetStartTimestamp(b.begun)
	p.SetTimestamp(b.now)
	put(p.Attributes(), keys)
	switch n := v.(type) {
	case float64:
		p.SetDoubleValue(n)
	default:
		p.SetIntValue(integer(v))
	}
}

// integer returns a sum or an extreme value as points have it.
func integer(v any) int64 {
	switch n := v.(type) {
	case int64:
		return n
	case uint64:
		return int64(min(n, math.MaxInt64))
	case time.Duration:
		return int64(n)
	case time.Time:
		return n.UnixNano()
	}
	return 0
}

func float(v any) float64 {
	if f, ok := v.(float64); ok {
		return f
	}
	if n, ok := v.(uint64); ok {
		return float64(n)
	}
	return float64(integer(v))
}

// histogram adds a point of an exponential histogram. The kernel's buckets are the buckets of its scale,
// except that a power of two lies in the bucket that begins with it, and the data model has it in the
// one that ends with it; it allows that at boundaries.
func (b *metricBuilder) histogram(key scopeKey, name, unit string, keys []event.Arg, g *total.Group) {
	m := b.metric(key, name, unit, func(m pmetric.Metric) { m.SetEmptyExponentialHistogram().SetAggregationTemporality(b.temporality()) })
	p := m.ExponentialHistogram().DataPoints().AppendEmpty()
	p.SetStartTimestamp(b.begun)
	p.SetTimestamp(b.now)
	put(p.Attributes(), keys)
	scale := b.t.trace.Metrics.Scale
	p.SetScale(int32(scale))
	var counted uint64
	positive, negative := map[int32]uint64{}, map[int32]uint64{}
	for _, bucket := range g.Hist {
		switch {
		case bucket.N == 0:
			continue
		case bucket.Lo == 0 || bucket.Hi == 0 && bucket.Lo > -1: // the latter only of floating-point numbers
			p.SetZeroCount(p.ZeroCount() + bucket.N)
			if bucket.Hi < 1 { // integers have no other number in it
				p.SetZeroThreshold(max(bucket.Hi, -bucket.Lo))
			}
		case bucket.Lo > 0:
			positive[index(bucket.Lo, scale)] += bucket.N
		case bucket.Hi == 0: // -1
			negative[-1] += bucket.N
		default:
			negative[index(-bucket.Hi, scale)] += bucket.N
		}
		counted += bucket.N
	}
	fill(p.Positive(), positive)
	fill(p.Negative(), negative)
	p.SetCount(counted)
	if g.Sum != nil && len(negative) == 0 {
		p.SetSum(float(g.Sum))
	}
	if g.Min != nil {
		p.SetMin(float(g.Min))
	}
	if g.Max != nil {
		p.SetMax(float(g.Max))
	}
}

// index returns the index of the bucket that begins with an amount.
func index(amount float64, scale int) int32 {
	return int32(math.Round(math.Ldexp(math.Log2(amount), scale)))
}

// fill writes the counts of buckets by their indices.
func fill(at pmetric.ExponentialHistogramDataPointBuckets, counts map[int32]uint64) {
	if len(counts) == 0 {
		return
	}
	first, last := slices.Min(slices.Collect(maps.Keys(counts))), slices.Max(slices.Collect(maps.Keys(counts)))
	at.SetOffset(first)
	for i := first; i <= last; i++ {
		at.BucketCounts().Append(counts[i])
	}
}
