package provider

import (
	"errors"

	"github.com/go-usdt/usdt/internal/stub"
)

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
