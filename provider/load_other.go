//go:build !linux

package provider

// object exists on Linux only.
type object struct {
	probes     []loadedProbe
	first      *uint32
	semaphores int
	stays      bool
}

type loadedProbe struct {
	*probe
	counter *uint32
}

func load(_ *Provider, _ *Options, _ []*probe, replaced []*object) (*object, []*object, error) {
	return nil, replaced, ErrNotSupported
}

func (o *object) watched() bool { return false }

func (o *object) close() error { return nil }

func awaitTracer() {}

// Nothing is published here.

func loadsEarly() bool                { return false }
func (p *Provider) mustPublish() bool { return false }
func (p *Provider) publishLate()      {}

func fastestSite() Site { return SiteNop }
