package discover

import (
	"fmt"
	"slices"

	"github.com/go-usdt/usdt/internal/kernelsites"
	"github.com/go-usdt/usdt/internal/selector"
	"github.com/go-usdt/usdt/reader"
)

// ErrNoFunction is wrapped, beside ErrNoMatch, by the error for a selector that names nothing in the
// kernel: waiting does not help.
var ErrNoFunction = fmt.Errorf("%w", ErrNoMatch)

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
