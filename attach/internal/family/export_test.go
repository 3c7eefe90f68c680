package family

import "errors"

// MissExits has the kernel miss each exit from now on.
func (f *Family) MissExits() error { return f.closeFrom(0) }

// MissForks has the kernel miss each fork from now on, as it would say once.
func (f *Family) MissForks() error {
	for i := range f.missed {
		f.missed[i]++
	}
	return f.closeFrom(1)
}

// closeFrom closes every second link.
func (f *Family) closeFrom(i int) error {
	var errs []error
	for ; i < len(f.links); i += 2 {
		errs = append(errs, f.links[i].Close())
	}
	return errors.Join(errs...)
}
