package discover

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-usdt/usdt/internal/kernfunc"
	"github.com/go-usdt/usdt/internal/selector"
	"github.com/go-usdt/usdt/reader"
)

// ErrNoFunction is wrapped, beside ErrNoMatch, by the error for a selector that names no function of
// the kernel: waiting does not help.
var ErrNoFunction = fmt.Errorf("%w", ErrNoMatch)

// loadKernel returns the table of the running kernel's functions. Tests put their own in its place.
var loadKernel = kernfunc.Load

// Unpatched returns functions of the kernel that cannot be traced, by their numbers in BTF.
func (d *Search) Unpatched() []uint32 {
	if d.table == nil {
		return nil
	}
	return d.table.Unpatched()
}

// InKernel reports whether a selector names functions or tracepoints of the kernel.
func InKernel(selectors []selector.Selector) bool {
	return slices.ContainsFunc(selectors, func(s selector.Selector) bool { return s.Kind.InKernel() })
}

// onlyKernel reports whether all selectors do.
func (d *Search) onlyKernel() bool {
	return !slices.ContainsFunc(d.selectors, func(s selector.Selector) bool { return !s.Kind.InKernel() })
}

// kernel keeps the functions of the kernel that selectors name. If several name one, the first gives
// it its name.
func (d *Search) kernel() error {
	if err := d.tracepoints(); err != nil || !slices.ContainsFunc(d.selectors, func(s selector.Selector) bool { return ofFunctions(&s) }) {
		return err
	}
	table, err := loadKernel()
	if err != nil {
		return err
	}
	d.table = table
	var kinds []reader.ProbeKind
	var prefixes []string
	for i := range d.selectors {
		s := &d.selectors[i]
		if !ofFunctions(s) {
			continue
		}
		if prefixes = append(prefixes, s.KernelPrefix()); !slices.Contains(kinds, s.Kind) {
			kinds = append(kinds, s.Kind)
		}
	}
	slices.Sort(kinds)
	for i := range table.Functions {
		f := &table.Functions[i]
		if i%1024 == 0 && d.interrupted() {
			return nil
		}
		if !begins(f, prefixes) { // most functions: nothing else is asked of them
			continue
		}
		for _, kind := range kinds {
			if name := d.namedKernel(f, kind); name != "" {
				p := table.Probe(f, kind, name)
				d.keep(&p, 0)
			}
		}
	}
	return nil
}

// ofFunctions reports whether a selector names functions of the kernel.
func ofFunctions(s *selector.Selector) bool { return s.Kind.InKernel() && !s.Kind.HasFields() }

// begins reports whether a name of a function begins like one that a selector names.
func begins(f *kernfunc.Function, prefixes []string) bool {
	for _, prefix := range prefixes {
		if strings.HasPrefix(f.Name, prefix) {
			return true
		}
		for _, alias := range f.Aliases {
			if strings.HasPrefix(alias, prefix) {
				return true
			}
		}
	}
	return false
}

// namedKernel returns the name by which selectors of a kind name a function, "" if none does.
func (d *Search) namedKernel(f *kernfunc.Function, kind reader.ProbeKind) (name string) {
	for i := range d.selectors {
		s := &d.selectors[i]
		if s.Kind != kind {
			continue
		}
		n := nameBy(s, f)
		if n == "" {
			continue
		}
		if _, literal := s.LiteralKernel(); !literal && kernfunc.Hot(f.Name) {
			d.hot[i]++
			continue
		}
		d.matched[i] = true
		if name == "" {
			name = n
		}
	}
	return name
}

// nameBy returns the first of a function's names by which a selector names it, "" if it does not.
func nameBy(s *selector.Selector, f *kernfunc.Function) string {
	if s.MatchKernel(f.Module, f.Name, f.Address) {
		return f.Name
	}
	for _, n := range f.Aliases {
		if s.MatchKernel(f.Module, n, f.Address) {
			return n
		}
	}
	return ""
}

// Hot returns how many functions and tracepoints of the kernel were left out, since their calls never end
// and no selector names them exactly.
func (d *Search) Hot() (n int) {
	for _, of := range d.hot {
		n = max(n, of)
	}
	return n
}

// noKernel is noMatch for a selector of functions of the kernel.
func (d *Search) noKernel(i int) error {
	s := &d.selectors[i]
	if s.Kind.HasFields() {
		return d.noTracepoint(i)
	}
	err := fmt.Errorf("%w %s in the kernel", ErrNoFunction, s.String())
	if n := d.hot[i]; n > 0 {
		return fmt.Errorf("%w, except %d that run all the time, or while a program of this tracing runs: name such a function exactly", err, n)
	}
	literal, ok := s.LiteralKernel()
	if !ok || d.table == nil {
		return err
	}
	nearest, least, others := "", 0, []string(nil)
	for j := range d.table.Functions {
		f := &d.table.Functions[j]
		if f.Name == literal {
			others = append(others, fmt.Sprintf("%s:%s:%s@%#x", s.Kind, f.Module, f.Name, f.Address))
		}
		if distance, ok := s.NearKernel(f.Name); ok && (nearest == "" || distance < least) {
			nearest, least = f.Name, distance
		}
	}
	switch {
	case len(others) > 0:
		return fmt.Errorf("%w, but %s would", err, strings.Join(others[:min(len(others), maxNamed)], ", "))
	case nearest != "":
		return fmt.Errorf("%w, but %s would", err, selector.Shell(s.Kind.String()+":"+nearest))
	case strings.Contains(literal, "."):
		return err
	}
	return fmt.Errorf("%w: it does not exist, was inlined everywhere, or is code that must not be traced", err)
}
