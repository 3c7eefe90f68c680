package provider

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// ErrNotSupported is wrapped by the error of Load where probes cannot be
// loaded: outside Linux, or on an architecture without stubs. Fire does
// nothing then. errors.Is(err, errors.ErrUnsupported) holds for it.
var ErrNotSupported = fmt.Errorf("USDT probes cannot be loaded here: %w", errors.ErrUnsupported)

// ErrClosed is wrapped by the error of Load after Close.
var ErrClosed = errors.New("provider is closed")

// Provider is a named set of probes. Make one with New. Loaded probes stay
// until Close, also when the program has forgotten the provider.
type Provider struct {
	name string
	opts Options

	mu         sync.Mutex
	err        error // of the provider itself, reported by every Load
	errs       []error
	names      map[string]bool
	groups     map[string]*Group
	signatures map[string]*signature
	records    map[reflect.Type]recordSignature
	pending    []declared
	objects    []*object
	closed     bool
}

// New returns a provider without probes. A name that tools could not use is
// reported by Load.
func New(name string, opts *Options) *Provider {
	p := &Provider{
		name:       name,
		names:      map[string]bool{},
		groups:     map[string]*Group{},
		signatures: map[string]*signature{},
		records:    map[reflect.Type]recordSignature{},
	}
	if opts != nil {
		p.opts = *opts
	}
	p.err = checkName("provider", name, maxProviderName)
	return p
}

// Name returns the name that New was given.
func (p *Provider) Name() string { return p.name }

// Load publishes the probes that were declared since the last Load: from now
// on tracers find them. Probes that are loaded already are not disturbed.
//
// The error joins those of all wrong declarations; the other probes are
// published all the same. If the object cannot be loaded the probes remain to
// be loaded by the next call. An error is no reason to stop: probes that are
// not loaded do nothing when fired.
func (p *Provider) Load() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return fmt.Errorf("load provider %q: %w", p.name, ErrClosed)
	}
	errs := p.errs
	p.errs = nil
	if p.err != nil {
		return errors.Join(append([]error{p.err}, errs...)...)
	}
	if len(p.pending) > 0 {
		// The same probes give the same object, however they were declared.
		slices.SortFunc(p.pending, func(a, b declared) int { return strings.Compare(a.name, b.name) })
		if err := p.publish(); err != nil {
			errs = append(errs, fmt.Errorf("load provider %q: %w", p.name, err))
		}
	}
	return errors.Join(errs...)
}

// publish loads an object with the pending probes. They stay pending if it
// cannot, or may not.
func (p *Provider) publish() error {
	opts, disabled, err := p.opts.settings()
	if err != nil || disabled {
		return err
	}
	o, err := load(p.name, &opts, p.pending)
	if o != nil {
		p.objects = append(p.objects, o)
		p.pending = nil
	}
	return err
}

// Enabled reports whether any probe of the provider is being watched. It looks
// at each of them under a lock: for a test before each Fire, use the probe's or
// a [Group]'s.
func (p *Provider) Enabled() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, o := range p.objects {
		for _, d := range o.probes {
			if d.sem.Active() {
				return true
			}
		}
	}
	return false
}

// Close withdraws all probes. It waits for those that are being fired, which
// takes as long as a tracer's program runs and stops the world for a moment;
// probes fired later do nothing. Closing twice is no error.
func (p *Provider) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	objects := p.objects
	p.objects, p.pending, p.errs = nil, nil, nil
	var errs []error
	for _, o := range objects {
		errs = append(errs, o.close())
	}
	return errors.Join(errs...)
}
