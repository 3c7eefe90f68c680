package usdtreceiver

import (
	"cmp"
	"context"
	"time"

	"go.opentelemetry.io/collector/consumer/xconsumer"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/reader"
	"github.com/go-usdt/usdt/total"
)

// profilesTask delivers what the kernel has added up by the calls that led to probes.
type profilesTask struct {
	trace *Trace
	units *units
}

func (t *profilesTask) of() *Trace { return t.trace }

func (t *profilesTask) signal() string { return "profiles" }

// ownKeys is the number of keys of each group before the ones of By: probe, pid and stack.
const ownKeys = 3

func (t *profilesTask) run(ctx context.Context, e *env) error {
	p := t.trace.Profiles
	resolver, release := useSymbols()
	defer release()
	o := t.trace.profiled()
	o.Resolver = resolver
	s, err := opening(ctx, e, func() (*attach.Aggregate, error) {
		return attach.OpenAggregate(ctx, t.trace.Probes, t.trace.stacks(), o)
	})
	if err != nil {
		return ended(ctx, err)
	}
	defer e.attached(s)()
	begun, rest := time.Now(), newOthers(e, true)
	t.units = newUnits(p.Value)
	give := func() error {
		now := time.Now()
		groups, err := s.Read()
		rest.see(groups)
		t.units.learn(s, groups)
		if len(groups) > 0 {
			deliver(ctx, e, eventsIn(groups), func(ctx context.Context, next any) error {
				return next.(xconsumer.Profiles).ConsumeProfiles(ctx, t.profiles(e, groups, begun, now))
			})
		}
		begun = now
		return err
	}
	return every(ctx, s, cmp.Or(p.Interval, defaultInterval), give)
}

// profiles returns the groups as profiles: for each process and probe one of the number of events and,
// if there is a value, one of its sum.
func (t *profilesTask) profiles(e *env, groups []total.Group, begun, now time.Time) pprofile.Profiles {
	b := &profileBuilder{t: t, e: e, out: pprofile.NewProfiles(), begun: begun, took: now.Sub(begun),
		resources: map[int]pprofile.ResourceProfiles{}, scopes: map[scopeKey]pprofile.ScopeProfiles{}, profiles: map[metricKey]pprofile.Profile{}}
	b.dictionary = newDictionary(b.out.Dictionary())
	for i := range groups {
		b.add(&groups[i])
	}
	return b.out
}

// profileBuilder has each resource, scope and profile once.
type profileBuilder struct {
	t          *profilesTask
	e          *env
	out        pprofile.Profiles
	dictionary *dictionary
	begun      time.Time
	took       time.Duration
	resources  map[int]pprofile.ResourceProfiles
	scopes     map[scopeKey]pprofile.ScopeProfiles
	profiles   map[metricKey]pprofile.Profile
}

// add adds the samples of a group.
func (b *profileBuilder) add(g *total.Group) {
	p := b.t.trace.Profiles
	key, name, stack := scopeKey{provider: "usdt"}, other, b.dictionary.stand(other)
	var keys []event.Arg
	if !g.Other {
		key.provider, name = split(text(g.By[0].Value))
		key.pid = pidOf(g.By[1].Value)
		stack = b.dictionary.stackOf(g.By[2].Value)
		keys = g.By[ownKeys:]
	}
	var attributes []int32
	for i := range keys {
		attributes = append(attributes, b.dictionary.attribute(&keys[i]))
	}
	base := b.t.trace.called(key.provider, name)
	b.sample(key, base+".count", "count", stack, attributes, int64(g.Count))
	if p.Value == "" {
		return
	}
	unit := p.Unit
	if unit == "" && g.Meaning == reader.Duration {
		unit = "nanoseconds"
	}
	if unit == "" && !g.Other {
		unit = b.t.units.of(text(g.By[0].Value))
	}
	b.sample(key, base+".sum", cmp.Or(unit, "count"), stack, attributes, integer(g.Sum))
}

// sample adds a sample to the profile of a name.
func (b *profileBuilder) sample(key scopeKey, name, unit string, stack int32, attributes []int32, value int64) {
	p, ok := b.profiles[metricKey{key, name}]
	if !ok {
		p = b.scope(key).Profiles().AppendEmpty()
		p.SampleType().SetTypeStrindex(b.dictionary.text(name))
		p.SampleType().SetUnitStrindex(b.dictionary.text(unit))
		p.SetTime(pcommon.NewTimestampFromTime(b.begun))
		p.SetDurationNano(uint64(b.took))
		p.SetProfileID(pprofile.ProfileID(random[pcommon.TraceID]()))
		b.profiles[metricKey{key, name}] = p
	}
	s := p.Samples().AppendEmpty()
	s.SetStackIndex(stack)
	s.AttributeIndices().FromRaw(attributes)
	s.Values().Append(value)
}

func (b *profileBuilder) scope(key scopeKey) pprofile.ScopeProfiles {
	scope, ok := b.scopes[key]
	if ok {
		return scope
	}
	r, ok := b.resources[key.pid]
	if !ok {
		r = b.out.ResourceProfiles().AppendEmpty()
		b.e.resources.process(r.Resource(), key.pid)
		b.resources[key.pid] = r
	}
	scope = r.ScopeProfiles().AppendEmpty()
	scope.Scope().SetName(utf8(key.provider))
	b.scopes[key] = scope
	return scope
}
