package provider

import (
	"errors"
	"reflect"
	"slices"

	"github.com/go-usdt/usdt/internal/stub"
	"github.com/go-usdt/usdt/internal/sys"
)

// ErrNotSupported is wrapped by the error of Load where probes cannot be loaded:
// outside Linux, or on an architecture without stubs. Fire does nothing there.
// errors.Is(err, errors.ErrUnsupported) reports true for it.
var ErrNotSupported = errorf("USDT probes cannot be loaded here: %w", errors.ErrUnsupported)

// Provider is a named set of probes. Make one with New. The probes of a nil or zero
// Provider do nothing, and its Load returns an error. Loaded probes stay until Close,
// even if the program forgets the provider.
type Provider struct {
	semaphores stub.Many // of all objects; first for the inliner's budget

	name string
	err  error // what is wrong with the name; every Load reports it

	next *Provider // in the registry, which all guards
	open bool      // whether it is there

	life sys.Mutex // held by what loads and closes, around mu

	mu         sys.Mutex
	live       bool // whether what is declared is published without another Load
	due        bool // whether a goroutine is about to publish
	early      bool // whether it was USDT_LOAD that published, and no Load yet
	opts       Options
	used       Options           // the options that the last object was loaded with
	given      sourceLine        // where opts were given, if they were
	givenOnce  bool              // whether that was before the last Close: the next New sets the options
	probes     map[string]*probe // by name, the last one that was declared first
	wrong      wrongs
	alone      *Group // the probes that have a semaphore each
	groups     map[string]*Group
	signatures map[string]*signature
	records    map[reflect.Type]recordSignature
	pending    []*probe // the probes that are to be loaded
	unsaid     error    // what failed of probes that were published late: the next Load reports it
	objects    []*object
	taps       taps
	offered    bool // to local tracers
	recorded   bool // by the flight recorder
}

// New returns the provider with this name, the same one each time, so that packages
// can declare probes of one provider. Load reports a name that tools could not use.
//
// Leave opts nil and pass options to [LoadAll], which overrides New's. If
// calls of New give different options, the first ones count, and Load reports both
// places. After Close, the next New sets the options anew.
//
//go:noinline
func New(name string, opts *Options) *Provider {
	at := sourceLine(stub.Caller(0))
	p := registered(name, at)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.givenOnce {
		p.opts, p.given, p.givenOnce = Options{}, 0, false
		p.wrong.forgive("")
	}
	switch {
	case opts == nil:
	case p.given == 0:
		p.opts, p.given = *opts, at
	case *opts != p.opts:
		p.wrong.add("", at, errorf("provider %q has other options at %v than at %v: give them to LoadAll", name, at, p.given))
	}
	return p
}

func newProvider(name string, at sourceLine) *Provider {
	p := &Provider{
		name:       name,
		err:        checkName("provider", name, maxProviderName),
		probes:     map[string]*probe{},
		groups:     map[string]*Group{},
		signatures: map[string]*signature{},
		records:    map[reflect.Type]recordSignature{},
	}
	if p.err != nil {
		p.err = errorf("declare provider at %v: %w", at, p.err)
	}
	p.alone = &Group{provider: p}
	return p
}

// made reports whether New has made p.
func (p *Provider) made() bool { return p != nil && p.probes != nil }

// Name returns the name that New was given.
func (p *Provider) Name() string {
	if p == nil {
		return ""
	}
	return p.name
}

// Load publishes the probes that are declared: from now on tracers find them. Probes declared
// later are published by themselves, until Close: within some milliseconds, together with all
// that are declared meanwhile, or before the declaration returns if a tracer has started the
// program. After Close, Load publishes all probes again.
//
// Load does not disturb probes that are loaded already. Probes that nobody watches may move into
// a new object, so that a program which declares again and again has few objects; watched probes
// stay where they are. While a tracer attaches to every probe that it finds, each publication
// therefore adds an object, which takes a descriptor (Options.Backing) and three mappings; the
// first one after the tracer has gone merges them. A provider that has more than 64 publishes
// less and less often. Objects of [LoaderDlopen] are not moved: each publication adds one that
// stays.
//
// The error joins the errors of all wrong declarations, on each Load again, and counts
// those beyond the first 64; the other probes are published all the same. If the object
// cannot be loaded, the probes remain for the next Load or declaration. A program need not
// stop at an error: probes that are not loaded do nothing when fired.
//
// If a tracer has started the program and says so in its environment (USDT_TRACER),
// Load returns once the tracer has attached, or after 10 seconds.
func (p *Provider) Load() error {
	published, err := p.load()
	if published {
		awaitTracer()
	}
	return err
}

func (p *Provider) load() (published bool, err error) {
	if !p.made() {
		return false, errors.New("load provider: it is nil or zero: make one with New")
	}
	p.life.Lock()
	all.Lock()
	p.hold()
	all.Unlock()
	p.mu.Lock()
	p.live = true
	errs := append(p.wrong.report(), p.err, p.unsaid)
	p.unsaid = nil
	if early := p.early; p.err == nil && (len(p.pending) > 0 || early) {
		p.early = false
		if err := p.publish(early); err != nil {
			errs = append(errs, errorf("load provider %q: %w", p.name, err))
		}
		published = len(p.pending) == 0
	}
	p.mu.Unlock()
	p.life.Unlock()
	return published, join(errs...)
}

// publish loads an object with the pending probes and the probes of the objects that it
// replaces. If it cannot or may not load one, the probes stay pending. again says that
// what is loaded already had no options but the environment's.
func (p *Provider) publish(again bool) error {
	opts := overriding(p.opts)
	disabled, err := opts.obeyEnvironment()
	if err != nil || disabled {
		return err
	}
	var replaced []*object
	if again && opts != p.used {
		replaced = p.idle()
	} else {
		replaced = p.replaceable(len(p.pending))
	}
	if len(p.pending)+len(replaced) == 0 {
		return nil
	}
	p.used = opts
	return p.replace(&opts, replaced)
}

// replace loads an object with the pending probes and the probes of the objects in
// replaced, and puts it in their place.
func (p *Provider) replace(opts *Options, replaced []*object) error {
	probes := slices.Clone(p.pending)
	for _, o := range replaced {
		for _, l := range o.probes {
			probes = append(probes, l.probe)
		}
	}
	// The same probes give the same object, in whatever order they were declared.
	sortFunc(probes, compareProbes)
	o, kept, err := load(p, opts, probes, replaced)
	if o != nil {
		p.objects = remove(p.objects, func(o *object) bool {
			return slices.Contains(replaced, o) && !slices.Contains(kept, o)
		})
		p.objects = append(p.objects, o)
		p.pending = nil
		p.updateEnabled()
		if opts.Local {
			err = join(err, p.offer())
		}
	}
	return err
}

// maxIdle is the number of unwatched objects that a Load leaves alone. It is more
// than one, since a tracer that has found an object may still be about to attach to
// it.
const maxIdle = 2

// smallObject is the number of probes up to which an object is made anew in no time.
const smallObject = 64

// replaceable returns the objects that an object with n more probes is to replace:
// none while there are few, then the objects that are small or no larger than what is added to
// them. So many Loads of many probes do not make each object anew many times.
func (p *Provider) replaceable(n int) []*object {
	idle := p.idle()
	if len(idle) < maxIdle {
		return nil
	}
	sortFunc(idle, func(a, b *object) int { return len(a.probes) - len(b.probes) })
	for i, o := range idle {
		if len(o.probes) > max(n, smallObject) {
			return idle[:i]
		}
		n += len(o.probes)
	}
	return idle
}

// idle returns the objects that may be replaced, since nobody watches them.
func (p *Provider) idle() (idle []*object) {
	for _, o := range p.objects {
		if !o.stays && !o.watched() {
			idle = append(idle, o)
		}
	}
	return idle
}

// updateEnabled makes Enabled of the provider and of its groups read the semaphores of all
// present objects, and at no others.
func (p *Provider) updateEnabled() {
	var all stub.Rows
	for _, g := range p.groups {
		g.counters = nil
	}
	for _, o := range p.objects {
		all.Add(o.first, o.semaphores)
		for _, l := range o.probes {
			g := l.group
			if !g.shares() {
				continue
			}
			if c := g.counters; len(c) == 0 || c[len(c)-1] != l.counter {
				g.counters = append(c, l.counter)
			}
		}
	}
	if p.taps.any() {
		all.Always()
		for _, g := range p.groups {
			g.counters = append(g.counters, stub.Always())
		}
	}
	p.semaphores.Set(&all)
	for _, g := range p.groups {
		g.semaphores.Set(g.counters)
	}
}

// Enabled reports whether somebody watches a probe of the provider. It returns false
// for a nil or zero provider. It costs about a nanosecond if the provider has up to
// eight probes in one object, or up to three in each of two, a [Group] counting as one.
// Beyond that, it is a call that reads all semaphores: some 10 ns for 64 probes and 80
// ns for 1,000. A Group of the probes that matter costs what one probe does.
func (p *Provider) Enabled() bool { return p != nil && p.semaphores.Active((*stub.Many).Scan) }

// Close withdraws all probes. It waits for probes that are being fired, which takes as long as a
// tracer's program runs and stops the world for a moment. Probes fired later do nothing, until
// Load publishes all of them again: probes declared before Close then fire like probes declared
// after it. Closing twice is not an error.
func (p *Provider) Close() error {
	if !p.made() {
		return nil
	}
	p.life.Lock()
	err := join(p.close(), p.withdraw())
	p.life.Unlock()
	return err
}

func (p *Provider) close() error {
	all.Lock()
	p.letGo()
	all.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.live, p.early, p.due = false, false, false
	p.endLocal()
	p.stopRecording()
	objects := p.objects
	p.objects, p.pending, p.unsaid = nil, nil, nil
	for _, pr := range p.probes {
		for ; pr != nil; pr = pr.next {
			p.pending = append(p.pending, pr)
		}
	}
	p.givenOnce = p.given != 0
	p.wrong.close()
	p.updateEnabled()
	var err error
	for _, o := range objects {
		err = join(err, o.close())
	}
	return err
}
