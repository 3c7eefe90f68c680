//go:build !linux

package provider

// object exists on Linux only.
type object struct{ probes []declared }

func load(string, *Options, []declared) (*object, error) { return nil, ErrNotSupported }

func (o *object) close() error { return nil }

func fastestSite() Site { return SiteNop }
