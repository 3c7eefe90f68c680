package provider

import (
	"fmt"
	"unsafe"

	"github.com/go-usdt/usdt/internal/stub"
	"github.com/go-usdt/usdt/internal/tap"
)

// probe is the part of a probe that does not depend on its argument types. The
// semaphore lies beside it in the same value, not in it: in an embedded struct it
// would make Fire too large to be inlined.
type probe struct {
	name      string
	sig       *signature // nil if the declaration was wrong
	semaphore *stub.Semaphore
	group     *Group // whose provider lives as long as its probes do
	declared  sourceLine

	site uintptr // address of the stub; 0 while not loaded
}

// call calls the probe's stub if the probe is loaded.
func (p *probe) call(f *frame) {
	if p.tapped() {
		// The frame stays where it is, and moves with its stack, until callTaps returns.
		p.callTaps(tap.Slots((*stub.Block)(noescape(unsafe.Pointer(&f.Block))), p.sig.addresses))
	}
	stub.Call(&p.site, &f.Block, p.sig.addresses)
}

// callAt is like call, for a record.
func (p *probe) callAt(record unsafe.Pointer) {
	ipv4 := ipv4Word()
	if p.tapped() {
		p.callTaps(tap.Record(noescape(record), ipv4))
	}
	stub.CallAt(&p.site, record, ipv4)
}

// scopeOf returns the group in which probes are declared, nil if there is none.
func scopeOf(in Scope) *Group {
	if in == nil {
		return nil
	}
	return in.scope()
}

// declare adds a probe to its provider, or an error that each Load reports. It calls
// sign for the probe's signature while the provider is locked. Neither declare nor
// its callers, NewProbe0 …, may be inlined, because the recorded place is the address
// that they return to.
//
//go:noinline
func declare(in Scope, pr *probe, sem *stub.Semaphore, name string, sign func(*Provider) (*signature, error)) {
	at := sourceLine(stub.Caller(1))
	g := scopeOf(in)
	if g == nil {
		orphan(name, at)
		return
	}
	p := g.provider
	p.mu.Lock()
	defer p.mu.Unlock()
	sig, err := sign(p)
	pr.name, pr.sig, pr.semaphore, pr.group, pr.declared = name, sig, sem, g, at
	if bad := checkName("probe", name, maxProbeName); bad != nil {
		err = bad
	}
	p.wrong.forgive(name)
	if old := p.probes[name]; err == nil && old != nil {
		err = fmt.Errorf("it is declared already at %v", old.declared)
	}
	if err != nil {
		p.wrong.add(name, at, fmt.Errorf("declare probe %s:%s at %v: %w", p.name, name, at, err))
		return
	}
	p.probes[name] = pr
	pr.attach(nil)
	p.pending = append(p.pending, pr)
	if old := p.earlier[name]; old != nil {
		old.semaphore.Attach(nil) // also if it was tapped
		delete(p.earlier, name)
	}
}

// slots returns the function that makes the signature of a probe whose arguments
// travel in slots.
func slots(names []string, kinds ...kind) func(*Provider) (*signature, error) {
	return func(p *Provider) (*signature, error) { return p.signature(names, kinds) }
}

// signature returns the signature for these names and kinds. Equal lists share one.
func (p *Provider) signature(names []string, kinds []kind) (*signature, error) {
	var buf [128]byte
	key := buf[:0]
	for i, n := range names[:min(len(names), len(kinds))] {
		key = append(append(append(key, n...), 0), byte(kinds[i]))
	}
	if s := p.signatures[string(key)]; s != nil {
		return s, nil
	}
	if err := checkArgNames(names, len(kinds)); err != nil {
		return nil, err
	}
	s := newSignature(string(key), names, kinds)
	p.signatures[s.key] = s
	return s, nil
}
