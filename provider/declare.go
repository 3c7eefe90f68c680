package provider

import (
	"fmt"
	"runtime"
	"slices"

	"github.com/go-usdt/usdt/internal/stub"
)

// probe is the part of a probe that does not depend on its argument types. The
// semaphore lies beside it in the same value: in an embedded struct it would make
// Fire too large to be inlined.
type probe struct {
	name      string
	sig       *signature // nil if the declaration was wrong
	semaphore *stub.Semaphore
	provider  *Provider // which lives as long as its probes do
	group     *Group    // nil for none
	declared  place

	site uintptr // address of the stub; 0 while not loaded
}

// place is where something was declared: a return address in the program, and how
// often the provider had been closed.
type place struct {
	pc    uintptr
	close int
}

// caller returns the address to which the function returns that called caller's
// caller, or, by above, one of those above it.
func caller(above int) uintptr {
	var pc [1]uintptr
	runtime.Callers(3+above, pc[:])
	return pc[0]
}

// String returns the file and line.
func (p place) String() string {
	f, _ := runtime.CallersFrames([]uintptr{p.pc}).Next()
	return fmt.Sprintf("%s:%d", f.File, f.Line)
}

// wrong is a declaration that each Load reports.
type wrong struct {
	name string // of the probe, empty for the provider's options
	at   place
	err  error
}

// call calls the probe's stub if it is loaded.
func (p *probe) call(f *frame) { stub.Call(&p.site, &f.Block, p.sig.addresses) }

// unwatched is the counter of probes that are not loaded.
var unwatched = new(uint32)

// scopeOf returns the provider and the group, nil for none, in which probes are
// declared; nil if there is no provider.
func scopeOf(in Scope) (*Provider, *Group) {
	if in == nil {
		return nil, nil
	}
	return in.scope()
}

// declare adds a probe to its provider, or an error for each Load. sign returns the
// probe's signature while the provider is locked.
func declare(in Scope, pr *probe, sem *stub.Semaphore, name string, sign func(*Provider) (*signature, error)) {
	sem.Attach(unwatched)
	pc := caller(1) // of NewProbe0 …
	p, g := scopeOf(in)
	if p == nil {
		orphan(name, pc)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	sig, err := sign(p)
	pr.name, pr.sig, pr.semaphore, pr.provider, pr.group, pr.declared = name, sig, sem, p, g, place{pc, p.closes}
	if bad := checkName("probe", name, maxProbeName); bad != nil {
		err = bad
	}
	p.forgive(name)
	old := p.probes[name]
	switch {
	case err != nil:
		p.blame(name, pr.declared, fmt.Errorf("declare probe %s:%s at %v: %w", p.name, name, pr.declared, err))
	case old != nil && old.declared.close == p.closes:
		p.blame(name, pr.declared, fmt.Errorf("declare probe %s:%s at %v: it is declared already at %v", p.name, name, pr.declared, old.declared))
	default:
		p.probes[name] = pr
		if !p.again {
			p.pending = append(p.pending, pr)
		}
	}
}

// blame notes what is wrong with a declaration.
func (p *Provider) blame(name string, at place, err error) {
	p.wrong = append(p.wrong, wrong{name, at, err})
}

// forgive forgets what was wrong with declarations of that name before the last
// Close.
func (p *Provider) forgive(name string) {
	p.wrong = slices.DeleteFunc(p.wrong, func(w wrong) bool { return w.name == name && w.at.close < p.closes })
}

// slots returns what makes the signature of a probe whose arguments travel in slots.
func slots(names []string, kinds ...kind) func(*Provider) (*signature, error) {
	return func(p *Provider) (*signature, error) { return p.signature(names, kinds) }
}

// signature returns the signature for these names and kinds, the same one for
// the same list.
func (p *Provider) signature(names []string, kinds []kind) (*signature, error) {
	if err := checkArgNames(names, len(kinds)); err != nil {
		return nil, err
	}
	var buf [128]byte
	key := buf[:0]
	for i, n := range names {
		key = append(append(append(key, n...), 0), byte(kinds[i]))
	}
	if s := p.signatures[string(key)]; s != nil {
		return s, nil
	}
	s := newSignature(string(key), names, kinds)
	p.signatures[s.key] = s
	return s, nil
}
