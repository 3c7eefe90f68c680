package provider

import "github.com/go-usdt/usdt/internal/stub"

// Scope is where probes are declared: a [Provider], or a [Group] of one.
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

// shares reports whether the probes of g share a semaphore: those that are declared
// in the provider itself do not.
func (g *Group) shares() bool { return g != g.provider.alone }

// Group is a set of probes of one provider that share a semaphore, so that one look
// says whether any of them is watched. Tracers see no difference, except that a
// probe of the group may fire while only another one is watched.
type Group struct {
	// semaphores, first for the inliner's budget, has the group's in each loaded object:
	// one, unless some probes were declared after a Load.
	semaphores stub.Any
	provider   *Provider
}

// Group returns the provider's group of that name, the same one each time. The
// name is for the program only; it is no part of the probes' names. A nil provider
// has nil groups, in which probes do nothing.
func (p *Provider) Group(name string) *Group {
	if !p.made() {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	g := p.groups[name]
	if g == nil {
		g = &Group{provider: p}
		p.groups[name] = g
	}
	return g
}

// Enabled reports whether somebody watches a probe of the group, however many it has:
// it costs less than a nanosecond more than a probe's Enabled. It is false for a nil or
// zero group.
func (g *Group) Enabled() bool { return g != nil && g.semaphores.Active((*stub.Any).Look) }
