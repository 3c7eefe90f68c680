package provider

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"weak"
)

// all are the providers of this process. Tools see its probes as one set, whichever
// packages declare them, so there is one registry.
var all struct {
	sync.Mutex
	providers map[string]registration
	opts      *Options        // of LoadAll, nil for none
	orphans   map[place]error // probes without a provider, by where they are declared
}

// registration is how a provider is known. A closed one is so only as long as the
// program has it, or a probe of it, so that nothing grows.
type registration struct {
	open   *Provider
	closed weak.Pointer[Provider]
}

func (r registration) provider() *Provider {
	if r.open != nil {
		return r.open
	}
	return r.closed.Value()
}

// registered returns the provider of that name.
func registered(name string) *Provider {
	all.Lock()
	defer all.Unlock()
	p := all.providers[name].provider()
	if p == nil {
		p = newProvider(name)
		runtime.AddCleanup(p, unregister, name)
	}
	p.hold()
	return p
}

// hold keeps p until it is closed, let go no longer. The registry is locked.
func (p *Provider) hold() {
	if all.providers == nil {
		all.providers = map[string]registration{}
	}
	all.providers[p.name] = registration{open: p}
}

func (p *Provider) letGo() { all.providers[p.name] = registration{closed: weak.Make(p)} }

// unregister forgets a provider that is no more.
func unregister(name string) {
	all.Lock()
	defer all.Unlock()
	if all.providers[name].provider() == nil {
		delete(all.providers, name)
	}
}

// orphan notes that a probe is declared without a provider.
func orphan(name string, at place) {
	all.Lock()
	defer all.Unlock()
	if all.orphans == nil {
		all.orphans = map[place]error{}
	}
	all.orphans[at] = fmt.Errorf("declare probe %s at %v: its provider or group is nil", name, at)
}

// overriding returns the options of LoadAll, or else opts.
func overriding(opts Options) Options {
	all.Lock()
	defer all.Unlock()
	if all.opts != nil {
		return *all.opts
	}
	return opts
}

// sorted returns all providers, by name.
func sorted() (list []*Provider, orphans []error) {
	all.Lock()
	defer all.Unlock()
	for _, r := range all.providers {
		if p := r.provider(); p != nil {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b *Provider) int { return strings.Compare(a.name, b.name) })
	for _, err := range all.orphans {
		orphans = append(orphans, err)
	}
	return list, orphans
}

// LoadAll loads all providers that New has made, with opts unless they are nil: it
// is for the main function of a program whose packages declare probes. The options
// also count for later Loads, of probes and providers that are declared later, until
// CloseAll. The error joins those of each [Provider.Load], and names probes that were
// declared in a nil provider or group.
func LoadAll(opts *Options) error {
	if opts != nil {
		all.Lock()
		o := *opts
		all.opts = &o
		all.Unlock()
	}
	providers, errs := sorted()
	any := false
	for _, p := range providers {
		published, err := p.load()
		any = any || published
		errs = append(errs, err)
	}
	if any {
		awaitTracer()
	}
	return errors.Join(errs...)
}

// CloseAll closes all providers, and forgets the options of LoadAll. LoadAll may
// follow.
func CloseAll() error {
	all.Lock()
	all.opts = nil
	all.Unlock()
	providers, _ := sorted()
	var errs []error
	for _, p := range providers {
		errs = append(errs, p.Close())
	}
	return errors.Join(errs...)
}
