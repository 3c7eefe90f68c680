//go:build !linux

package provider

// object exists on Linux only.
type object struct{ probes []declared }

func load(string, *Options, []declared) (*object, error) { return nil, ErrNotSupported }

func (o *object) close() error { return nil }

// privileged is for systems where something can be loaded.
func privileged() bool { return false }

func fastestSite() Site { return SiteNop }
