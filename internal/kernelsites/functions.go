package kernelsites

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-usdt/usdt/internal/kernfunc"
	"github.com/go-usdt/usdt/internal/selector"
	"github.com/go-usdt/usdt/reader"
)

var functions = source{
	kinds: []reader.ProbeKind{reader.Kprobe, reader.Kretprobe, reader.Fentry, reader.Fexit},
	load: func() (sites, error) {
		table, err := kernfunc.Load()
		return functionTable{table}, err
	},
}

// functionTable has the kernel's functions.
type functionTable struct{ *kernfunc.Table }

func (t functionTable) find(s *Search) error {
	var kinds []reader.ProbeKind
	var prefixes []string
	for i := range s.Selectors {
		sel := &s.Selectors[i]
		if !functions.has(sel.Kind) {
			continue
		}
		if prefixes = append(prefixes, sel.KernelPrefix()); !slices.Contains(kinds, sel.Kind) {
			kinds = append(kinds, sel.Kind)
		}
	}
	slices.Sort(kinds)
	var p reader.Probe // Keep copies it
	for i := range t.Functions {
		f := &t.Functions[i]
		if i%1024 == 0 && s.Interrupted() {
			return nil
		}
		if !begins(f, prefixes) { // most functions: nothing else is asked of them
			continue
		}
		for _, kind := range kinds {
			if name := s.nameOf(f, kind); name != "" {
				p = t.Probe(f, kind, name)
				s.Keep(&p)
			}
		}
	}
	return nil
}

// begins reports whether a name of a function begins like one that a selector names.
func begins(f *kernfunc.Function, prefixes []string) bool {
	for _, prefix := range prefixes {
		if hasPrefix(f.Name, prefix) {
			return true
		}
		for _, alias := range f.Aliases {
			if hasPrefix(alias, prefix) {
				return true
			}
		}
	}
	return false
}

// hasPrefix is strings.HasPrefix, and fast for names of which most differ in the first byte.
func hasPrefix(name, prefix string) bool {
	return prefix == "" || name != "" && name[0] == prefix[0] && strings.HasPrefix(name, prefix)
}

// nameOf returns the name by which selectors of a kind name a function, "" if none does.
func (s *Search) nameOf(f *kernfunc.Function, kind reader.ProbeKind) (name string) {
	for i := range s.Selectors {
		sel := &s.Selectors[i]
		if sel.Kind != kind {
			continue
		}
		n := nameBy(sel, f)
		if n == "" {
			continue
		}
		if _, literal := sel.LiteralKernel(); !literal && kernfunc.Hot(f.Name) {
			s.Hot[i]++
			continue
		}
		s.Matched[i] = true
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

func (t functionTable) missing(s *selector.Selector, hot int) string {
	if hot > 0 {
		return fmt.Sprintf(", except %d that run all the time, or while a program of this tracing runs: name such a function exactly", hot)
	}
	literal, ok := s.LiteralKernel()
	if !ok {
		return ""
	}
	nearest, least, others := "", 0, []string(nil)
	for i := range t.Functions {
		f := &t.Functions[i]
		if f.Name == literal {
			others = append(others, fmt.Sprintf("%s:%s:%s@%#x", s.Kind, f.Module, f.Name, f.Address))
		}
		if distance, ok := s.NearKernel(f.Name); ok && (nearest == "" || distance < least) {
			nearest, least = f.Name, distance
		}
	}
	switch {
	case len(others) > 0:
		return fmt.Sprintf(", but %s would", strings.Join(others[:min(len(others), maxNamed)], ", "))
	case nearest != "":
		return fmt.Sprintf(", but %s would", selector.Shell(s.Kind.String()+":"+nearest))
	case strings.Contains(literal, "."):
		return ""
	}
	return ": it does not exist, was inlined everywhere, or is code that must not be traced"
}

// maxNamed is the largest number of functions of one name that a message names.
const maxNamed = 6

func (t functionTable) words(prefix string, yield func(before, name, end string)) {
	module, rest, modules := strings.Cut(prefix, ":")
	before := ""
	if modules {
		before, prefix = module+":", rest
	}
	for i := range t.Functions {
		if f := &t.Functions[i]; strings.HasPrefix(f.Name, prefix) && (!modules || f.Module == module) {
			yield(before, f.Name, "")
		}
	}
}

// Unpatched returns functions of the kernel that cannot be traced, by their numbers in BTF.
func (s *Search) Unpatched() []uint32 {
	if t, ok := s.loaded[&functions].(functionTable); ok {
		return t.Unpatched()
	}
	return nil
}
