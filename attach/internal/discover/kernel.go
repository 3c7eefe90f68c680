package discover

import (
	"errors"
	"fmt"
	"slices"

	"github.com/go-usdt/usdt/internal/kernelsites"
	"github.com/go-usdt/usdt/internal/kernfunc"
	"github.com/go-usdt/usdt/internal/selector"
	"github.com/go-usdt/usdt/reader"
)

// ErrNoFunction is wrapped, beside ErrNoMatch, by the error for a selector that names nothing in the
// kernel: waiting does not help.
var ErrNoFunction = fmt.Errorf("%w", ErrNoMatch)

// errAllTrampolines is the error for a selector of all functions by trampolines.
var errAllTrampolines = errors.New("a trampoline at each of the kernel's functions takes the kernel minutes to make and slows down the whole machine: name them by more than *, or take kprobe: instead")

// CheckTrampolines returns an error for a selector of all functions of the kernel by trampolines.
func CheckTrampolines(s *selector.Selector) error {
	if s.Kind.ByTrampoline() && s.Function == "*" && s.Address == 0 && s.MatchKernel(kernfunc.Kernel, "any", 0) {
		return errAllTrampolines
	}
	return nil
}

// Unpatched returns functions of the kernel that cannot be traced, by their numbers in BTF.
func (d *Search) Unpatched() []uint32 {
	if d.inKernel == nil {
		return nil
	}
	return d.inKernel.Unpatched()
}

// namesKernel reports whether a selector names something of the kernel, and onlyKernel whether all do.
func (d *Search) namesKernel() bool {
	return slices.ContainsFunc(d.selectors, func(s selector.Selector) bool { return s.Kind.InKernel() })
}

func (d *Search) onlyKernel() bool {
	return !slices.ContainsFunc(d.selectors, func(s selector.Selector) bool { return !s.Kind.InKernel() })
}

// kernel keeps the sites of the kernel that selectors name.
func (d *Search) kernel() error {
	d.inKernel = &kernelsites.Search{
		Selectors: d.selectors, Matched: d.matched, Hot: d.hot, Interrupted: d.interrupted,
		Keep: func(p *reader.Probe) { d.keep(p, 0) },
	}
	return d.inKernel.Find()
}

// Hot returns how many functions and tracepoints of the kernel were left out, since their calls never end
// and no selector names them exactly.
func (d *Search) Hot() (n int) {
	for _, of := range d.hot {
		n = max(n, of)
	}
	return n
}

// noKernel is noMatch for a selector of sites of the kernel.
func (d *Search) noKernel(i int) error {
	instead := ""
	if d.inKernel != nil {
		instead = d.inKernel.Missing(i)
	}
	return fmt.Errorf("%w %s in the kernel%s", ErrNoFunction, d.selectors[i].String(), instead)
}
