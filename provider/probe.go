package provider

import (
	"unsafe"

	"github.com/go-usdt/usdt/internal/stub"
)

// The probe types differ only in their number of arguments. To stay within the
// inliner's budget, each has its semaphore as a field of its own, outside the
// embedded part, and Fire is two tests and one call, which it makes by when. The method fire
// passes on pointers to the arguments, so that the code behind it exists once.

// maxArgs is the largest number of arguments of a probe, except of a record. Each takes up to
// two slots of an argument block, which does not compile if they are too many.
const maxArgs = 6

var _ [stub.Slots - 2*maxArgs]struct{}

// when calls f if s is active. The inliner takes the call of a parameter for a cheap one, so
// that Fire has a test for nil within the budget: docs/why/sites.md. The compiler removes
// the closure. That needs when to be in this package, whose export data has its body.
func when(s *stub.Semaphore, f func()) {
	if s.Active() {
		f()
	}
}

// Probe0 is a probe of no arguments. Make one with NewProbe0.
type Probe0 struct {
	sem stub.Semaphore
	probe
}

// NewProbe0 declares a probe in a provider or group. Load reports what is wrong
// with the declaration.
//
//go:noinline
func NewProbe0(in Scope, name string) *Probe0 {
	return (*Probe0)(declare(in, name, nil))
}

// Enabled reports whether somebody watches the probe.
func (p *Probe0) Enabled() bool { return p != nil && p.sem.Active() }

// Fire passes its arguments to attached tracers.
func (p *Probe0) Fire() {
	if p != nil && p.sem.Active() {
		p.fire()
	}
}

//go:noinline
func (p *Probe0) fire() {
	p.pass(nil)
}

// Probe1 is a probe of one argument. Make one with NewProbe1.
type Probe1[A Arg] struct {
	sem stub.Semaphore
	probe
}

// NewProbe1 declares a probe in a provider or group; a names its argument. Load
// reports what is wrong with the declaration.
//
//go:noinline
func NewProbe1[A Arg](in Scope, name, a string) *Probe1[A] {
	return (*Probe1[A])(declare(in, name, []string{a}, kindOf[A]()))
}

// Enabled reports whether somebody watches the probe.
func (p *Probe1[A]) Enabled() bool { return p != nil && p.sem.Active() }

// Fire passes its arguments to attached tracers.
func (p *Probe1[A]) Fire(a A) {
	if p != nil {
		when(&p.sem, func() { p.fire(a) })
	}
}

// fire passes the arguments by their addresses: they live until pass returns.
//
//go:noinline
func (p *Probe1[A]) fire(a A) {
	p.pass([]unsafe.Pointer{unsafe.Pointer(&a)})
}

// Probe2 is a probe of two arguments. Make one with NewProbe2.
type Probe2[A, B Arg] struct {
	sem stub.Semaphore
	probe
}

// NewProbe2 declares a probe in a provider or group; a and b name its arguments.
// Load reports what is wrong with the declaration.
//
//go:noinline
func NewProbe2[A, B Arg](in Scope, name, a, b string) *Probe2[A, B] {
	return (*Probe2[A, B])(declare(in, name, []string{a, b}, kindOf[A](), kindOf[B]()))
}

// Enabled reports whether somebody watches the probe.
func (p *Probe2[A, B]) Enabled() bool { return p != nil && p.sem.Active() }

// Fire passes its arguments to attached tracers.
func (p *Probe2[A, B]) Fire(a A, b B) {
	if p != nil {
		when(&p.sem, func() { p.fire(a, b) })
	}
}

// fire passes the arguments by their addresses: they live until pass returns.
//
//go:noinline
func (p *Probe2[A, B]) fire(a A, b B) {
	p.pass([]unsafe.Pointer{unsafe.Pointer(&a), unsafe.Pointer(&b)})
}

// Probe3 is a probe of three arguments. Make one with NewProbe3.
type Probe3[A, B, C Arg] struct {
	sem stub.Semaphore
	probe
}

// NewProbe3 declares a probe in a provider or group; a, b and c name its arguments.
// Load reports what is wrong with the declaration.
//
//go:noinline
func NewProbe3[A, B, C Arg](in Scope, name, a, b, c string) *Probe3[A, B, C] {
	return (*Probe3[A, B, C])(declare(in, name, []string{a, b, c}, kindOf[A](), kindOf[B](), kindOf[C]()))
}

// Enabled reports whether somebody watches the probe.
func (p *Probe3[A, B, C]) Enabled() bool { return p != nil && p.sem.Active() }

// Fire passes its arguments to attached tracers.
func (p *Probe3[A, B, C]) Fire(a A, b B, c C) {
	if p != nil {
		when(&p.sem, func() { p.fire(a, b, c) })
	}
}

// fire passes the arguments by their addresses: they live until pass returns.
//
//go:noinline
func (p *Probe3[A, B, C]) fire(a A, b B, c C) {
	p.pass([]unsafe.Pointer{unsafe.Pointer(&a), unsafe.Pointer(&b), unsafe.Pointer(&c)})
}

// Probe4 is a probe of four arguments. Make one with NewProbe4.
type Probe4[A, B, C, D Arg] struct {
	sem stub.Semaphore
	probe
}

// NewProbe4 declares a probe in a provider or group; a to d name its arguments.
// Load reports what is wrong with the declaration.
//
//go:noinline
func NewProbe4[A, B, C, D Arg](in Scope, name, a, b, c, d string) *Probe4[A, B, C, D] {
	return (*Probe4[A, B, C, D])(declare(in, name, []string{a, b, c, d}, kindOf[A](), kindOf[B](), kindOf[C](), kindOf[D]()))
}

// Enabled reports whether somebody watches the probe.
func (p *Probe4[A, B, C, D]) Enabled() bool { return p != nil && p.sem.Active() }

// Fire passes its arguments to attached tracers.
func (p *Probe4[A, B, C, D]) Fire(a A, b B, c C, d D) {
	if p != nil {
		when(&p.sem, func() { p.fire(a, b, c, d) })
	}
}

// fire passes the arguments by their addresses: they live until pass returns.
//
//go:noinline
func (p *Probe4[A, B, C, D]) fire(a A, b B, c C, d D) {
	p.pass([]unsafe.Pointer{unsafe.Pointer(&a), unsafe.Pointer(&b), unsafe.Pointer(&c), unsafe.Pointer(&d)})
}

// Probe5 is a probe of five arguments. Make one with NewProbe5.
type Probe5[A, B, C, D, E Arg] struct {
	sem stub.Semaphore
	probe
}

// NewProbe5 declares a probe in a provider or group; a to e name its arguments.
// Load reports what is wrong with the declaration.
//
//go:noinline
func NewProbe5[A, B, C, D, E Arg](in Scope, name, a, b, c, d, e string) *Probe5[A, B, C, D, E] {
	return (*Probe5[A, B, C, D, E])(declare(in, name, []string{a, b, c, d, e}, kindOf[A](), kindOf[B](), kindOf[C](), kindOf[D](), kindOf[E]()))
}

// Enabled reports whether somebody watches the probe.
func (p *Probe5[A, B, C, D, E]) Enabled() bool { return p != nil && p.sem.Active() }

// Fire passes its arguments to attached tracers.
func (p *Probe5[A, B, C, D, E]) Fire(a A, b B, c C, d D, e E) {
	if p != nil {
		when(&p.sem, func() { p.fire(a, b, c, d, e) })
	}
}

// fire passes the arguments by their addresses: they live until pass returns.
//
//go:noinline
func (p *Probe5[A, B, C, D, E]) fire(a A, b B, c C, d D, e E) {
	p.pass([]unsafe.Pointer{unsafe.Pointer(&a), unsafe.Pointer(&b), unsafe.Pointer(&c), unsafe.Pointer(&d), unsafe.Pointer(&e)})
}

// Probe6 is a probe of six arguments. Make one with NewProbe6.
type Probe6[A, B, C, D, E, F Arg] struct {
	sem stub.Semaphore
	probe
}

// NewProbe6 declares a probe in a provider or group; a to f name its arguments.
// Load reports what is wrong with the declaration.
//
//go:noinline
func NewProbe6[A, B, C, D, E, F Arg](in Scope, name, a, b, c, d, e, f string) *Probe6[A, B, C, D, E, F] {
	return (*Probe6[A, B, C, D, E, F])(declare(in, name, []string{a, b, c, d, e, f}, kindOf[A](), kindOf[B](), kindOf[C](), kindOf[D](), kindOf[E](), kindOf[F]()))
}

// Enabled reports whether somebody watches the probe.
func (p *Probe6[A, B, C, D, E, F]) Enabled() bool { return p != nil && p.sem.Active() }

// Fire passes its arguments to attached tracers.
func (p *Probe6[A, B, C, D, E, F]) Fire(a A, b B, c C, d D, e E, f F) {
	if p != nil {
		when(&p.sem, func() { p.fire(a, b, c, d, e, f) })
	}
}

// fire passes the arguments by their addresses: they live until pass returns.
//
//go:noinline
func (p *Probe6[A, B, C, D, E, F]) fire(a A, b B, c C, d D, e E, f F) {
	p.pass([]unsafe.Pointer{unsafe.Pointer(&a), unsafe.Pointer(&b), unsafe.Pointer(&c), unsafe.Pointer(&d), unsafe.Pointer(&e), unsafe.Pointer(&f)})
}

// Each FireFunc is one test and one call, as Fire is. Closures do not escape from it, so
// that they lie on the stacks of its callers.

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
