package provider

import (
	"errors"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/go-usdt/usdt/internal/stub"
	"github.com/go-usdt/usdt/internal/tap"
)

// listen calls listener for each firing of the provider's probes, whether they are
// loaded or not, until the source's Stop. The error joins the errors of wrong
// declarations.
//
// Package providertest calls it by go:linkname. A variable of package tap that leads
// to it would make the linker keep 20 KB in every service.
//
//go:linkname listen github.com/go-usdt/usdt/provider.listen
func listen(p *Provider, listener tap.Listener) (tap.Source, error) {
	if !p.made() || listener == nil {
		return tap.Source{}, errors.New("the provider is nil or zero: make one with New")
	}
	if !stub.Supported {
		return tap.Source{}, ErrNotSupported
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	errs := append(p.wrong.errors(), p.err)
	if err := join(errs...); err != nil {
		return tap.Source{}, err
	}
	this := &listener
	tapped.Add(1)
	p.setTaps(append(slices.Clone(p.taps.all()), this))
	return tap.Source{
		Names: p.names,
		Stop: func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			before := p.taps.all()
			after := slices.DeleteFunc(slices.Clone(before), func(l *tap.Listener) bool { return l == this })
			p.setTaps(after)
			tapped.Add(int32(len(after) - len(before)))
		},
	}, nil
}

// tapped is the number of listeners of all providers. One load of it shows that there
// are none, while a probe's own listeners are three loads away.
var tapped atomic.Int32

func (p *probe) tapped() bool { return tapped.Load() != 0 && p.group.provider.taps.any() }

// taps holds the listeners of a provider: a *[]*tap.Listener, nil for none. With that
// type, every service would carry descriptions of the types in it.
type taps struct{ list unsafe.Pointer }

func (t *taps) any() bool { return atomic.LoadPointer(&t.list) != nil }

// all returns the listeners, a list that nobody changes.
func (t *taps) all() []*tap.Listener {
	if list := (*[]*tap.Listener)(atomic.LoadPointer(&t.list)); list != nil {
		return *list
	}
	return nil
}

// setTaps gives p the listeners, for which p's probes then fire. It writes to no
// semaphore, because the kernel counts there without an atomic instruction.
func (p *Provider) setTaps(listeners []*tap.Listener) {
	var list unsafe.Pointer
	if len(listeners) > 0 {
		list = unsafe.Pointer(&listeners)
	}
	atomic.StorePointer(&p.taps.list, list)
	elsewhere := make(map[*probe]bool, len(p.probes))
	for _, o := range p.objects {
		for _, l := range o.probes {
			l.attach(l.counter)
			elsewhere[l.probe] = true
		}
	}
	for _, pr := range p.probes {
		for ; pr != nil; pr = pr.next {
			if !elsewhere[pr] {
				pr.attach(nil)
			}
		}
	}
	p.updateEnabled()
}

// attach makes the probe's semaphore refer to counter, nil for none, unless the probe
// is tapped. The provider is locked.
func (p *probe) attach(counter *uint32) {
	if p.group.provider.taps.any() {
		counter = stub.Always()
	}
	p.semaphore().Attach(counter)
}

// tap passes arguments to the listeners. Each [Text] among them becomes one that is made:
// Fire's copy of the argument, not the caller's.
func (p *probe) tap(args []unsafe.Pointer) {
	for i, a := range p.sig.args {
		if a.kind == kindText {
			t := (*Text)(args[i])
			*t = made(t.string())
		}
	}
	f := frame{listens: true}
	p.sig.put(&f.Slot, &f, args)
	// The frame stays where it is, and moves with its stack, until callTaps returns.
	p.callTaps(tap.Slots((*stub.Block)(noescape(unsafe.Pointer(&f.Block))), p.sig.addresses))
}

// callTaps passes a firing of the probe to the listeners.
//
//go:noinline
func (p *probe) callTaps(b tap.Block) {
	for _, l := range p.group.provider.taps.all() {
		(*l)(tap.Fired{Name: p.name, Type: p.sig.typ, Block: b})
	}
}

// names returns the names of the provider's probes.
func (p *Provider) names() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var names []string
	for name := range p.probes {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
