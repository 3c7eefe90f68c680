package kernfunc

import (
	"cmp"
	"io"
	"slices"
	"strings"
)

// Kernel is the module of functions that are the kernel's own.
const Kernel = "vmlinux"

// Function is a function of the kernel or of a module that can be traced.
type Function struct {
	Name   string
	Module string // Kernel for the kernel itself
	// Aliases are other names of the code.
	Aliases []string
	Address uint64
	// Copies is the number of functions with this name in the same module: static functions of
	// different files.
	Copies int
	// Uncertain says that only some of these can be traced, and that the kernel does not tell
	// which.
	Uncertain bool
}

// Table has the functions that can be traced, by address.
type Table struct {
	Functions []Function

	types *typeFiles
}

// invalid begins the names of places where the kernel has removed a function.
const invalid = "__ftrace_invalid_address__"

// beside is how far behind a function's first byte ftrace's place may be: behind an ENDBR of x86,
// a BTI and a move of arm64.
const beside = 16

// entry is a line of available_filter_functions.
type entry struct {
	site         uint64 // ftrace's place, 0 if it is not known
	name, module string
}

// New makes a table of what ftrace can patch and of the kernel's symbols. withAddresses says that
// the lines of available begin with an address.
func New(available, kallsyms io.Reader, withAddresses bool) (*Table, error) {
	entries, err := readAvailable(available, withAddresses)
	if err != nil {
		return nil, err
	}
	syms, err := readSymbols(kallsyms)
	if err != nil {
		return nil, err
	}
	t := &Table{Functions: make([]Function, 0, len(entries))}
	if withAddresses {
		t.joinAddresses(entries, syms)
	} else {
		t.joinNames(entries, syms)
	}
	slices.SortFunc(t.Functions, func(a, b Function) int { return cmp.Compare(a.Address, b.Address) })
	t.Functions = slices.CompactFunc(t.Functions, func(a, b Function) bool { return a.Address == b.Address })
	t.Functions = slices.Clip(t.Functions)
	t.countCopies()
	return t, nil
}

// readAvailable reads "[ADDRESS ]NAME[ [MODULE]]" lines. Names share the text's memory: a string for each would keep the
// garbage collector busy for as long as there is a table.
func readAvailable(r io.Reader, withAddresses bool) (entries []entry, err error) {
	var text strings.Builder
	if _, err := io.Copy(&text, r); err != nil {
		return nil, err
	}
	entries = make([]entry, 0, strings.Count(text.String(), "\n"))
	for line := range strings.Lines(text.String()) {
		line = strings.TrimSuffix(line, "\n")
		var e entry
		if withAddresses {
			address, rest, ok := cutHex(line)
			if !ok || len(rest) < 2 {
				continue
			}
			e.site, line = address, rest[1:]
		}
		if strings.HasPrefix(line, invalid) {
			continue
		}
		name, module, _ := strings.Cut(line, "[")
		e.name, e.module = strings.TrimRight(name, " \t"), cmp.Or(strings.TrimRight(module, "]"), Kernel)
		if e.name == "" {
			continue
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// moduleOf returns the module of a symbol.
func (s *symbols) moduleOf(i int) string {
	if m := s.module(i); len(m) > 0 {
		return string(m)
	}
	return Kernel
}

// joinAddresses gives each entry the symbols that are where ftrace's place is, or shortly before it.
func (t *Table) joinAddresses(entries []entry, syms *symbols) {
	for i := range entries {
		e := &entries[i]
		if e.site == 0 {
			continue
		}
		last := syms.upTo(e.site) - 1
		if last < 0 || e.site-syms.all[last].address > beside {
			continue
		}
		t.add(e.name, e.module, last, syms)
	}
}

// add adds the function at a symbol, the last one of its address.
func (t *Table) add(name, module string, last int, syms *symbols) *Function {
	f := Function{Name: name, Module: module, Address: syms.all[last].address}
	for i := last; i >= 0 && syms.all[i].address == f.Address; i-- {
		if alias := syms.name(i); string(alias) != name && !strings.HasPrefix(string(alias), "__pfx_") {
			f.Aliases = append(f.Aliases, string(alias))
		}
	}
	t.Functions = append(t.Functions, f)
	return &t.Functions[len(t.Functions)-1]
}

// joinNames gives each entry the symbols of its name and module.
func (t *Table) joinNames(entries []entry, syms *symbols) {
	type key struct{ name, module string }
	wanted := make(map[key]int, len(entries)) // how many entries
	for i := range entries {
		wanted[key{entries[i].name, entries[i].module}]++
	}
	found := make(map[key]int, len(wanted))
	of := func(i int) key { return key{string(syms.name(i)), syms.moduleOf(i)} }
	for i := range syms.all {
		if k := of(i); wanted[k] > 0 {
			found[k]++
		}
	}
	for i := range syms.all {
		k := of(i)
		if wanted[k] == 0 {
			continue
		}
		last := syms.upTo(syms.all[i].address) - 1
		t.add(k.name, k.module, last, syms).Uncertain = found[k] > wanted[k]
	}
}

// countCopies counts functions of equal names.
func (t *Table) countCopies() {
	type key struct{ name, module string }
	n := make(map[key]int, len(t.Functions))
	for i := range t.Functions {
		n[key{t.Functions[i].Name, t.Functions[i].Module}]++
	}
	for i := range t.Functions {
		t.Functions[i].Copies = n[key{t.Functions[i].Name, t.Functions[i].Module}]
	}
}

// Find returns the first function of a name, nil if there is none.
func (t *Table) Find(name string) *Function {
	for i := range t.Functions {
		for n := range t.Functions[i].Names {
			if n == name {
				return &t.Functions[i]
			}
		}
	}
	return nil
}

// Names yields the function's name and its aliases.
func (f *Function) Names(yield func(string) bool) {
	if !yield(f.Name) {
		return
	}
	for _, a := range f.Aliases {
		if !yield(a) {
			return
		}
	}
}
