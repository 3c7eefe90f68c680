package provider

import (
	"fmt"
	"sync/atomic"

	"github.com/go-usdt/usdt/internal/stub"
)

// probe is the part of a probe that does not depend on its argument types.
type probe struct {
	name string
	sig  *signature // nil if the declaration was wrong

	site  atomic.Uintptr // address of the stub; 0 while not loaded
	users atomic.Int32   // goroutines between enter and leave
}

// declared is a probe with its semaphore, which lies beside it: an embedded
// pair would make Fire too large to be inlined.
type declared struct {
	*probe
	sem *stub.Semaphore
}

// enter returns the address of the probe's stub, which stays mapped until
// leave. If the probe is not loaded it returns 0, and leave must not be called.
func (p *probe) enter() uintptr {
	p.users.Add(1)
	if site := p.site.Load(); site != 0 {
		return site
	}
	p.users.Add(-1)
	return 0
}

func (p *probe) leave() { p.users.Add(-1) }

// unwatched is the counter of probes that are not loaded.
var unwatched = new(uint32)

// declare adds a probe to p, or an error for the next Load.
func (p *Provider) declare(pr *probe, sem *stub.Semaphore, name string, names []string, kinds ...kind) {
	sem.Attach(unwatched)
	pr.name = name
	p.mu.Lock()
	defer p.mu.Unlock()
	err := checkName("probe", name, maxProbeName)
	if err == nil {
		pr.sig, err = p.signature(names, kinds)
	}
	switch {
	case err != nil:
		p.errs = append(p.errs, fmt.Errorf("declare probe %s:%s: %w", p.name, name, err))
	case p.names[name]:
		p.errs = append(p.errs, fmt.Errorf("declare probe %s:%s: it is declared already", p.name, name))
	case !p.closed:
		p.names[name] = true
		p.pending = append(p.pending, declared{pr, sem})
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
	s := newSignature(append([]string(nil), names...), append([]kind(nil), kinds...))
	s.key = string(key)
	p.signatures[s.key] = s
	return s, nil
}
