package discover

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/go-usdt/usdt/attach/internal/library"
	"github.com/go-usdt/usdt/internal/mangled"
	"github.com/go-usdt/usdt/internal/selector"
	"github.com/go-usdt/usdt/reader"
)

func (d *Search) wantsProbes() bool {
	return slices.ContainsFunc(d.selectors, func(s selector.Selector) bool { return s.Kind == reader.USDT })
}

func (d *Search) wantsFunctions() bool {
	return slices.ContainsFunc(d.selectors, func(s selector.Selector) bool { return s.Kind.InFile() })
}

// mayHaveFunctions reports whether a selector names functions of the object at path.
func (d *Search) mayHaveFunctions(path string) bool {
	may := slices.ContainsFunc(d.selectors, func(s selector.Selector) bool { return s.Kind.InFile() && s.MatchPath(path) })
	if may && !d.thorough {
		d.countFunctions(path, -d.functions[path]) // anew: several processes may have mapped the object
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
	trouble := func(err error) { d.troubles = append(d.troubles, err) }
	d.eachFunction(f.Functions(), trouble, func(fn *reader.Function) {
		fn.Path, fn.OpenPath = path, open
		for _, s := range d.addFunction(fn, 0) {
			s.File, state.matched = state.id, true
		}
	})
	d.readCode(path, cmp.Or(open, path), state.id, state.named)
	for _, addr := range d.addresses(path) {
		p := f.Instruction(addr)
		p.Path, p.OpenPath = path, open
		for _, s := range d.addInstruction(&p, 0) {
			s.File, state.matched = state.id, true
		}
	}
}

// eachFunction calls add with each function. If a selector names none then, which is an error, it
// does so again: names are written out that are not likely to match, to find one that is near.
func (d *Search) eachFunction(functions iter.Seq2[reader.Function, error], trouble func(error), add func(*reader.Function)) {
	for fn, err := range functions {
		if d.interrupted() {
			return
		}
		if err == nil {
			add(&fn)
		} else if !d.thorough {
			trouble(err)
		}
	}
	complete := true
	for i := range d.selectors {
		s := &d.selectors[i]
		complete = complete && (d.matched[i] || !s.ByFunction())
	}
	if d.again || d.thorough || complete {
		return
	}
	d.thorough = true
	d.eachFunction(functions, trouble, add)
	d.thorough = false
}

// wordsOf returns words that the symbols of all functions have which a selector names.
func wordsOf(s *selector.Selector) []string {
	return slices.DeleteFunc(s.Words(), func(word string) bool { return !mangled.Copied(word) })
}

// hasWords reports whether a symbol has all words.
func hasWords(symbol string, words []string) bool {
	for _, word := range words {
		if !strings.Contains(symbol, word) {
			return false
		}
	}
	return true
}

// addresses returns the addresses of instructions that selectors name in the
// object at path, each once.
func (d *Search) addresses(path string) (out []uint64) {
	for i := range d.selectors {
		if sel := &d.selectors[i]; sel.ByAddress && sel.MatchPath(path) {
			out = append(out, sel.Address)
		}
	}
	for _, c := range d.code[path].found {
		out = append(out, c.address)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// addInstruction keeps an instruction that selectors name by its address, or that is the first of
// a line or an inlined function, and returns its sites.
func (d *Search) addInstruction(p *reader.Probe, pid int) (sites []*Site) {
	keep := func(p *reader.Probe) {
		if s := d.keep(p, pid); s != nil {
			sites = append(sites, s)
		}
	}
	named := false
	for i := range d.selectors {
		if sel := &d.selectors[i]; sel.ByAddress && sel.Address == p.Location && sel.MatchPath(p.Path) {
			d.matched[i], named = true, true
		}
	}
	if named {
		keep(p)
	}
	for _, c := range d.code[p.Path].found {
		if c.address != p.Location {
			continue
		}
		at := p.Of(&c.Source)
		d.matched[c.selector] = true
		keep(&at)
	}
	return sites
}

// addFunction keeps the entry of the function, the return from it and its
// instructions if a selector names them, and returns their sites. If several
// selectors do, the first gives the name.
func (d *Search) addFunction(fn *reader.Function, pid int) (sites []*Site) {
	if !d.thorough {
		d.countFunctions(fn.Path, 1)
	}
	var entry, ret string
	var inside []reader.Probe
	for i := range d.selectors {
		sel := &d.selectors[i]
		if !sel.ByFunction() {
			continue
		}
		if !sel.MatchPath(fn.Path) || d.thorough && d.matched[i] {
			continue
		}
		if !d.thorough && !slices.ContainsFunc(fn.Symbols, func(s string) bool { return hasWords(s, d.words[i]) }) {
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
		if sel.Kind.IsReturn() {
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
	if p.Kind.InKernel() {
		name, _ := selector.SplitAddress(p.Name)
		return p.Kind == s.Kind && s.MatchKernel(p.Provider, name, p.Location)
	}
	if p.Target == nil {
		return s.Match(p.Path, p.Provider, p.Name)
	}
	if p.Kind != s.Kind || !s.MatchPath(p.Path) {
		return false
	}
	switch {
	case s.ByAddress:
		return s.Address == p.Location
	case s.ByLine:
		return s.MatchLine(p.Name)
	case p.Source != nil:
		return s.MatchName(p.Source.Func)
	}
	if s.Offset != p.Displacement() && !p.AtRET {
		return false
	}
	_, ok := p.Target.Match(s.MatchName)
	return ok
}
