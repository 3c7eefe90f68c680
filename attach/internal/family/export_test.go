package family

// MissExits has the kernel miss each exit from now on.
func (f *Family) MissExits() error { return f.links[0].Close() }

// MissForks has the kernel miss each fork from now on, as it would say once.
func (f *Family) MissForks() error {
	f.missed++
	return f.links[1].Close()
}
