package provider

// FireFunc is one test and one call, as Fire is. Closures do not escape from it, so that
// they lie on the stacks of its callers.

// FireFunc is like Fire with the arguments that f returns. It calls f only while somebody
// watches.
func (p *Probe1[A]) FireFunc(f func() A) {
	if p != nil && p.sem.Active() {
		p.fireFunc(f)
	}
}

//go:noinline
func (p *Probe1[A]) fireFunc(f func() A) { p.fire(f()) }

// FireFunc is like Fire with the arguments that f returns. It calls f only while somebody
// watches.
func (p *Probe2[A, B]) FireFunc(f func() (A, B)) {
	if p != nil && p.sem.Active() {
		p.fireFunc(f)
	}
}

//go:noinline
func (p *Probe2[A, B]) fireFunc(f func() (A, B)) { p.fire(f()) }

// FireFunc is like Fire with the arguments that f returns. It calls f only while somebody
// watches.
func (p *Probe3[A, B, C]) FireFunc(f func() (A, B, C)) {
	if p != nil && p.sem.Active() {
		p.fireFunc(f)
	}
}

//go:noinline
func (p *Probe3[A, B, C]) fireFunc(f func() (A, B, C)) { p.fire(f()) }

// FireFunc is like Fire with the arguments that f returns. It calls f only while somebody
// watches.
func (p *Probe4[A, B, C, D]) FireFunc(f func() (A, B, C, D)) {
	if p != nil && p.sem.Active() {
		p.fireFunc(f)
	}
}

//go:noinline
func (p *Probe4[A, B, C, D]) fireFunc(f func() (A, B, C, D)) { p.fire(f()) }

// FireFunc is like Fire with the arguments that f returns. It calls f only while somebody
// watches.
func (p *Probe5[A, B, C, D, E]) FireFunc(f func() (A, B, C, D, E)) {
	if p != nil && p.sem.Active() {
		p.fireFunc(f)
	}
}

//go:noinline
func (p *Probe5[A, B, C, D, E]) fireFunc(f func() (A, B, C, D, E)) { p.fire(f()) }

// FireFunc is like Fire with the arguments that f returns. It calls f only while somebody
// watches.
func (p *Probe6[A, B, C, D, E, F]) FireFunc(f func() (A, B, C, D, E, F)) {
	if p != nil && p.sem.Active() {
		p.fireFunc(f)
	}
}

//go:noinline
func (p *Probe6[A, B, C, D, E, F]) fireFunc(f func() (A, B, C, D, E, F)) { p.fire(f()) }

// FireFunc is like Fire with the record that f returns. It calls f only while somebody
// watches.
func (p *StructProbe[T]) FireFunc(f func() T) {
	if p != nil && p.sem.Active() {
		p.fireFunc(f)
	}
}

//go:noinline
func (p *StructProbe[T]) fireFunc(f func() T) {
	r := f()
	p.fire(&r)
}
