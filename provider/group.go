package provider

import "github.com/go-usdt/usdt/internal/stub"

// Scope is what probes are declared in: a [Provider], or a [Group] of one.
type Scope interface {
	scope() *Group // nil for none
}

func (p *Provider) scope() *Group {
	if !p.made() {
		return nil
	}
	return p.alone
}

func (g *Group) scope() *Group {
	if g == nil || g.provider == nil {
		return nil
	}
	return g
}

// shares reports whether the probes of g share a semaphore. Probes declared in the provider
// itself do not.
func (g *Group) shares() bool { return g != g.provider.alone }

// Group is a set of probes of one provider that share a semaphore, so that one check
// reports whether any of them is watched. Tracers see no difference, except that a
// probe of the group may fire while only another one is watched.
type Group struct {
	// semaphores holds the group's semaphore in each loaded object. There is one,
	// unless some probes were declared after a Load. The field is first for the
	// inliner's budget.
	semaphores stub.Any
	provider   *Provider
	name       string    // behind a "g"; empty for the probes that are in no group
	counters   []*uint32 // of the semaphores, once updateEnabled has found them all
}

// Group returns the provider's group with this name, the same one each time. The name
// is for the program only and no part of the probes' names. The groups of a nil
// provider are nil, and their probes do nothing.
func (p *Provider) Group(name string) *Group {
	if !p.made() {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	g := p.groups[name]
	if g == nil {
		g = &Group{provider: p, name: "g" + name}
		p.groups[name] = g
	}
	return g
}

// Enabled reports whether somebody watches a probe of the group, however many it has.
// It costs less than a nanosecond more than a probe's Enabled. It returns false for a
// nil or zero group.
func (g *Group) Enabled() bool { return g != nil && g.semaphores.Active((*stub.Any).Scan) }
