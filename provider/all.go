package provider

import (
	"errors"
	"strings"
	"unsafe"
	"weak"

	"github.com/go-usdt/usdt/internal/stub"
	"github.com/go-usdt/usdt/internal/sys"
)

// all holds the providers of this process. It is global because tools see the probes
// of a process as one set, whichever packages declare them.
var all struct {
	sys.Mutex
	providers map[string]registration
	most      int                  // how many before forget looks for ones that are gone
	life      sys.Mutex            // held by LoadAll and CloseAll, around all others
	opts      *Options             // LoadAll's, nil if it was given none
	live      bool                 // whether providers that are made now publish what they have
	early     bool                 // whether that is so by USDT_LOAD alone
	orphans   map[sourceLine]error // probes without a provider, by where they are declared
}

// registration refers to a provider under its name: strongly until it is closed,
// weakly afterwards, so that a closed one lives only as long as the program holds it
// or one of its probes, and nothing grows.
type registration struct {
	_      [0]func() // without a function that compares two
	open   *Provider
	closed weak.Pointer[Provider]
}

func (r registration) provider() *Provider {
	if r.open != nil {
		return r.open
	}
	return r.closed.Value()
}

// registered returns the provider with this name, which is declared at a place.
func registered(name string, at sourceLine) *Provider {
	all.Lock()
	defer all.Unlock()
	if all.providers == nil {
		all.providers = map[string]registration{}
		if !all.live {
			all.live = loadsEarly()
			all.early = all.live
		}
	}
	r, known := all.providers[name]
	p := r.provider()
	if p == nil {
		if len(all.providers) >= all.most {
			forget()
		}
		p = newProvider(name, at)
		if !known { // and not closed
			p.live, p.early = all.live, all.early
		}
	}
	p.hold()
	return p
}

// hold keeps p alive until it is closed; letGo ends that. The registry is locked.
func (p *Provider) hold() {
	all.providers[p.name] = registration{open: p}
	p.enter()
}

func (p *Provider) letGo() {
	all.providers[p.name] = registration{closed: weak.Make(p)}
	p.leave()
}

// forget removes the closed providers that no longer exist from the registry, which is
// locked. It is called when the registry has doubled, so that about half of the entries
// at most are such ones, and all calls together cost as much as the registrations.
// (runtime.AddCleanup, and with it the only delete, would add 12 kB to each service that
// declares probes.)
func forget() {
	known := map[string]registration{}
	for name, r := range all.providers {
		if r.provider() != nil {
			known[name] = r
		}
	}
	all.providers, all.most = known, 2*len(known)+8
}

// orphan records that a probe was declared without a provider, and returns one that does
// nothing.
func orphan(name string, at sourceLine) unsafe.Pointer {
	all.Lock()
	defer all.Unlock()
	if all.orphans == nil {
		all.orphans = map[sourceLine]error{}
	}
	all.orphans[at] = errorf("declare probe %s at %v: its provider or group is nil", name, at)
	return unsafe.Pointer(new(handle))
}

// overriding returns the options of LoadAll, or opts if there are none.
func overriding(opts Options) Options {
	all.Lock()
	defer all.Unlock()
	if all.opts != nil {
		return *all.opts
	}
	return opts
}

// sorted returns all providers, ordered by name, and the errors of orphans, ordered by
// their text.
func sorted() (list []*Provider, orphans []error) {
	all.Lock()
	defer all.Unlock()
	for _, r := range all.providers {
		if p := r.provider(); p != nil {
			list = append(list, p)
		}
	}
	sortFunc(list, func(a, b *Provider) int { return strings.Compare(a.name, b.name) })
	for _, err := range all.orphans {
		orphans = append(orphans, err)
	}
	sortFunc(orphans, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return list, orphans
}

// LoadAll loads all providers that New has made, and the ones that it will make, until CloseAll:
// see [Provider.Load]. The main function of a program whose packages declare probes calls it. If
// opts is not nil, it replaces the options given to New, also for later probes and providers. A
// provider that was closed by itself stays so until its next Load. The error joins the errors of each
// [Provider.Load] and names the probes that were declared in a nil provider or group.
func LoadAll(opts *Options) error {
	all.life.Lock()
	all.Lock()
	if opts != nil {
		o := *opts
		all.opts = &o
	}
	all.live, all.early = true, false
	all.Unlock()
	providers, errs := sorted()
	any := false
	for _, p := range providers {
		published, err := p.load()
		any = any || published
		errs = append(errs, err)
	}
	all.life.Unlock()
	if any {
		awaitTracer()
	}
	return join(errs...)
}

// CloseAll closes all providers and drops the options of LoadAll. LoadAll may be
// called again.
func CloseAll() error {
	all.life.Lock()
	defer all.life.Unlock()
	all.Lock()
	all.opts, all.live, all.early = nil, false, false
	all.Unlock()
	providers, _ := sorted()
	var errs []error
	for _, p := range providers {
		errs = append(errs, p.Close())
	}
	return join(errs...)
}

// Check returns what is wrong with the declarations of all providers, without loading any:
// the errors that [LoadAll] would return for them. A library's tests call it, since its
// declarations are mended there and not in somebody's main. [providertest.Check] fails a
// test by it.
//
// [providertest.Check]: https://pkg.go.dev/github.com/go-usdt/usdt/provider/providertest#Check
func Check() error {
	providers, errs := sorted()
	for _, p := range providers {
		errs = append(errs, p.Check())
	}
	return join(errs...)
}

// Check returns what is wrong with the provider's declarations, without loading it.
func (p *Provider) Check() error {
	if !p.made() {
		return errors.New("check provider: it is nil or zero: make one with New")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	errs := p.wrong.errors()
	if p.err != nil {
		return join(append(errs, p.err)...)
	}
	if code, ok := stub.CodeFor(SiteNop); ok {
		var probes []*probe
		for _, pr := range p.probes {
			for ; pr != nil; pr = pr.next {
				probes = append(probes, pr)
			}
		}
		sortFunc(probes, compareProbes)
		if _, err := newImage(p.name, code, probes); err != nil {
			errs = append(errs, errorf("make the object of provider %q: %w", p.name, err))
		}
	}
	return join(errs...)
}

// registry leads who reads this process's memory to the probes that are declared and not
// loaded: the magic number, then the first of the open providers, and where in a provider
// and in a probe the fields are that lead to their names. FORMAT.md describes it. The
// linker writes it into the file, where readers look for the magic number.
var registry = struct {
	magic                          [16]byte
	first                          *Provider
	next, name, pending, probeName uint32
}{
	magic:     [16]byte{'u', 's', 'd', 't', ' ', 'd', 'e', 'c', 'l', 'a', 'r', 'e', 'd', ' ', '1', '\n'},
	next:      uint32(unsafe.Offsetof(Provider{}.next)),
	name:      uint32(unsafe.Offsetof(Provider{}.name)),
	pending:   uint32(unsafe.Offsetof(Provider{}.pending)),
	probeName: uint32(unsafe.Offsetof(probe{}.name)),
}

// enter and leave put a provider into the registry and take it out. all is locked.
func (p *Provider) enter() {
	if !p.open {
		p.open = true
		p.next, registry.first = registry.first, p
	}
}

func (p *Provider) leave() {
	for at := &registry.first; *at != nil; at = &(*at).next {
		if *at == p {
			*at, p.next, p.open = p.next, nil, false
			return
		}
	}
}
