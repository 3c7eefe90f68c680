package provider

import (
	"errors"
	"slices"

	"github.com/go-usdt/usdt/internal/stub"
	"github.com/go-usdt/usdt/internal/tap"
	"github.com/go-usdt/usdt/notes"
)

// Tap has listen called with all that the provider's probes fire, whether they are
// loaded or not, until Stop of the source. The error joins those of wrong declarations.
//
// It is for package [github.com/go-usdt/usdt/provider/providertest]; its types are
// internal.
func (p *Provider) Tap(listen tap.Listener) (tap.Source, error) {
	if !p.made() || listen == nil {
		return tap.Source{}, errors.New("there is no provider, make one with New")
	}
	if !stub.Supported {
		return tap.Source{}, ErrNotSupported
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	errs := []error{p.err}
	for _, w := range p.wrong.list {
		errs = append(errs, w.err)
	}
	if err := errors.Join(errs...); err != nil {
		return tap.Source{}, err
	}
	this := &listen
	p.setTaps(append(slices.Clone(p.listeners()), this))
	return tap.Source{
		Names:  p.names,
		Object: p.object,
		Stop: func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.setTaps(slices.DeleteFunc(slices.Clone(p.listeners()), func(l *tap.Listener) bool { return l == this }))
		},
	}, nil
}

// listeners returns those who tap p, which nobody changes.
func (p *Provider) listeners() []*tap.Listener {
	if taps := p.taps.Load(); taps != nil {
		return *taps
	}
	return nil
}

// setTaps makes listeners those who tap p, and its probes fire for them. Nothing is
// written to a semaphore: the kernel counts there without an atomic instruction.
func (p *Provider) setTaps(listeners []*tap.Listener) {
	if len(listeners) == 0 {
		p.taps.Store(nil)
	} else {
		p.taps.Store(&listeners)
	}
	elsewhere := make(map[*probe]bool, len(p.probes))
	for _, o := range p.objects {
		for _, l := range o.probes {
			l.attach(l.counter)
			elsewhere[l.probe] = true
		}
	}
	for _, probes := range p.declared() {
		for _, pr := range probes {
			if !elsewhere[pr] {
				pr.attach(nil)
			}
		}
	}
	p.look()
}

// attach makes counter that of the probe's semaphore, nil for none, unless the probe
// is tapped. The provider is locked.
func (p *probe) attach(counter *uint32) {
	if p.group.provider.taps.Load() != nil {
		counter = stub.Always()
	}
	p.semaphore.Attach(counter)
}

// tell calls listeners with a probe that is being fired.
//
//go:noinline
func (p *probe) tell(listeners []*tap.Listener, b tap.Block) {
	for _, l := range listeners {
		(*l)(tap.Fired{Name: p.name, Signature: p.sig, Block: b})
	}
}

// names returns the names of the provider's probes.
func (p *Provider) names() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var names []string
	for _, probes := range p.declared() {
		for name := range probes {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// declared are the probes of p, those that Close has withdrawn included.
func (p *Provider) declared() [2]map[string]*probe {
	return [2]map[string]*probe{p.probes, p.earlier}
}

// object returns an object of one probe.
func (p *Provider) object(name string, sig any) ([]byte, error) {
	code, ok := stub.CodeFor(notes.SiteNop)
	if !ok {
		return nil, ErrNotSupported
	}
	im, err := newImage(p.name, code, []*probe{{name: name, sig: sig.(*signature), group: p.alone}})
	if err != nil {
		return nil, err
	}
	return im.bytes, nil
}
