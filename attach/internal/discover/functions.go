package discover

import (
	"fmt"
	"slices"

	"github.com/go-usdt/usdt/attach/internal/library"
	"github.com/go-usdt/usdt/internal/selector"
	"github.com/go-usdt/usdt/reader"
)

func (d *Search) wantsProbes() bool {
	return slices.ContainsFunc(d.selectors, func(s selector.Selector) bool { return s.Kind == selector.USDT })
}

func (d *Search) wantsFunctions() bool {
	return slices.ContainsFunc(d.selectors, func(s selector.Selector) bool { return s.Kind != selector.USDT })
}

// mayHaveFunctions reports whether a selector names functions of the object at path.
func (d *Search) mayHaveFunctions(path string) bool {
	may := slices.ContainsFunc(d.selectors, func(s selector.Selector) bool { return s.Kind != selector.USDT && s.MatchPath(path) })
	if may {
		d.countFunctions(path, 0)
	}
	return may
}

// countFunctions notes that n more functions of the object at path were looked
// at, for the error if nothing matches. Later looks report no such error.
func (d *Search) countFunctions(path string, n int) {
	if d.again {
		d.functions = nil
	} else {
		d.functions[path] += n
	}
}

// fileFunctions keeps the functions of a file that selectors name.
func (d *Search) fileFunctions(f *reader.File, state *fileState, path, open string) {
	for fn, err := range f.Functions() {
		if d.interrupted() {
			return
		}
		if err != nil {
			d.troubles = append(d.troubles, err)
			continue
		}
		fn.Path, fn.OpenPath = path, open
		for _, s := range d.addFunction(&fn, 0) {
			s.File, state.matched = state.id, true
		}
	}
	for _, addr := range d.addresses(path) {
		p := f.Instruction(addr)
		p.Path, p.OpenPath = path, open
		if s := d.addInstruction(&p, 0); s != nil {
			s.File, state.matched = state.id, true
		}
	}
}

// addresses returns the addresses of instructions that selectors name in the
// object at path.
func (d *Search) addresses(path string) (out []uint64) {
	for i := range d.selectors {
		if sel := &d.selectors[i]; sel.ByAddress && sel.MatchPath(path) {
			out = append(out, sel.Address)
		}
	}
	return out
}

// addInstruction keeps an instruction that selectors name by its address, and
// returns its site.
func (d *Search) addInstruction(p *reader.Probe, pid int) *Site {
	for i := range d.selectors {
		if sel := &d.selectors[i]; sel.ByAddress && sel.Address == p.Location && sel.MatchPath(p.Path) {
			d.matched[i] = true
		}
	}
	return d.keep(p, pid)
}

// addFunction keeps the entry of the function, the return from it and its
// instructions if a selector names them, and returns their sites. If several
// selectors do, the first gives the name.
func (d *Search) addFunction(fn *reader.Function, pid int) (sites []*Site) {
	d.countFunctions(fn.Path, 1)
	var entry, ret string
	var inside []reader.Probe
	for i := range d.selectors {
		sel := &d.selectors[i]
		if sel.Kind == selector.USDT || sel.ByAddress {
			continue
		}
		if !sel.MatchPath(fn.Path) {
			continue
		}
		name, ok := fn.Match(func(name string) bool { return d.matchName(i, name) })
		if !ok {
			continue
		}
		d.matched[i] = true
		if sel.Offset != 0 {
			p := fn.At(sel.Offset)
			p.Name = fmt.Sprintf("%s+%#x", name, sel.Offset)
			inside = append(inside, p)
			continue
		}
		dst := &entry
		if sel.Kind == selector.Uretprobe {
			dst = &ret
		}
		if *dst == "" {
			*dst = name
		}
	}
	keep := func(p reader.Probe, name string) {
		p.Name = name
		if s := d.keep(&p, pid); s != nil {
			sites = append(sites, s)
		}
	}
	for i := range inside {
		keep(inside[i], inside[i].Name)
	}
	if entry != "" {
		keep(fn.Entry(), entry)
	}
	if ret != "" {
		keep(fn.Return(), ret)
	}
	return sites
}

// installed searches programs and libraries by a name without a directory. They
// need not be running.
func (d *Search) installed(name string) {
	for _, path := range library.Installed(name) {
		if err := d.named(path); err != nil {
			d.troubles = append(d.troubles, err)
		}
	}
}

// Selects reports whether the selector names the probe.
func Selects(s *selector.Selector, p *reader.Probe) bool {
	if p.Target == nil {
		return s.Match(p.Path, p.Provider, p.Name)
	}
	if (p.Kind == reader.Uretprobe) != (s.Kind == selector.Uretprobe) || s.Kind == selector.USDT || !s.MatchPath(p.Path) {
		return false
	}
	if s.ByAddress {
		return s.Address == p.Location
	}
	if s.Offset != p.Displacement() {
		return false
	}
	_, ok := p.Target.Match(s.MatchName)
	return ok
}
