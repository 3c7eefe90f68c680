package provider

import (
	"slices"
	"sync/atomic"
)

// Scope is where probes are declared: a [Provider], or a [Group] of one.
type Scope interface {
	scope() (*Provider, *Group)
}

func (p *Provider) scope() (*Provider, *Group) { return p, nil }

func (g *Group) scope() (*Provider, *Group) { return g.provider, g }

// Group is a set of probes of one provider that share a semaphore, so that one
// look tells whether any of them is watched. Tracers see no difference, but
// that a probe of the group may be fired while only another one is watched.
type Group struct {
	provider *Provider
	// counters has the group's semaphore in each loaded object: one, unless
	// some probes were declared after a Load. The slice is never changed.
	counters atomic.Pointer[[]*uint32]
}

// Group returns the provider's group of that name, the same one each time. The
// name is for the program only; it is no part of the probes' names.
func (p *Provider) Group(name string) *Group {
	p.mu.Lock()
	defer p.mu.Unlock()
	g := p.groups[name]
	if g == nil {
		g = &Group{provider: p}
		g.detach()
		p.groups[name] = g
	}
	return g
}

// Enabled reports whether somebody watches a probe of the group.
func (g *Group) Enabled() bool {
	for _, c := range *g.counters.Load() {
		if atomic.LoadUint32(c) != 0 {
			return true
		}
	}
	return false
}

// attach adds a counter unless it is there. The provider is locked.
func (g *Group) attach(counter *uint32) {
	old := *g.counters.Load()
	if !slices.Contains(old, counter) {
		added := append(slices.Clip(old), counter)
		g.counters.Store(&added)
	}
}

// detach removes all counters.
func (g *Group) detach() { g.counters.Store(new([]*uint32)) }
