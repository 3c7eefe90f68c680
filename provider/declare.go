package provider

import (
	"fmt"

	"github.com/go-usdt/usdt/internal/stub"
)

// probe is the part of a probe that does not depend on its argument types. The
// semaphore lies beside it in the same value: in an embedded struct it would make
// Fire too large to be inlined.
type probe struct {
	name      string
	sig       *signature // nil if the declaration was wrong
	semaphore *stub.Semaphore
	group     *Group // nil for none

	site uintptr // address of the stub; 0 while not loaded
}

// call calls the probe's stub if it is loaded.
func (p *probe) call(f *frame) { stub.Call(&p.site, &f.Block, p.sig.addresses) }

// unwatched is the counter of probes that are not loaded.
var unwatched = new(uint32)

// declare adds a probe to its provider, or an error for the next Load.
func declare(in Scope, pr *probe, sem *stub.Semaphore, name string, names []string, kinds ...kind) {
	p, _ := in.scope()
	p.mu.Lock()
	defer p.mu.Unlock()
	sig, err := p.signature(names, kinds)
	p.add(in, pr, sem, name, sig, err)
}

// add adds a declared probe, or err. The provider is locked.
func (p *Provider) add(in Scope, pr *probe, sem *stub.Semaphore, name string, sig *signature, err error) {
	sem.Attach(unwatched)
	pr.name, pr.sig, pr.semaphore = name, sig, sem
	_, pr.group = in.scope()
	if bad := checkName("probe", name, maxProbeName); bad != nil {
		err = bad
	}
	switch {
	case err != nil:
		p.errs = append(p.errs, fmt.Errorf("declare probe %s:%s: %w", p.name, name, err))
	case p.names[name]:
		p.errs = append(p.errs, fmt.Errorf("declare probe %s:%s: it is declared already", p.name, name))
	case !p.closed:
		p.names[name] = true
		p.pending = append(p.pending, pr)
	}
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
