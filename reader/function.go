package reader

import (
	"cmp"
	"debug/elf"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ianlancetaylor/demangle"

	"github.com/go-usdt/usdt/internal/mangled"
	"github.com/go-usdt/usdt/notes"
)

// Function is a function of one object, a place for uprobes.
type Function struct {
	// Symbols are its names in the object's symbol tables, without versions, the most
	// fitting first: global before local ones, then those with fewer leading
	// underscores.
	Symbols []string
	// Path and OpenPath lead to the object, as in [Probe].
	Path, OpenPath string
	// Address is the address in the file, Offset the offset in the file. Size is in
	// bytes, 0 if the symbol table has none.
	Address, Size, Offset uint64
	// SiteErr says why no uprobe can be at the function's entry, nil if one can.
	SiteErr error
	// Resolver says that the symbol is of type STT_GNU_IFUNC: the code at the
	// address chooses the function when a process starts.
	Resolver bool
	// Convention says where the function finds its arguments.
	Convention Convention
	// Typed is what debugging information says of the arguments and results, nil if it was not
	// asked for.
	Typed *Typed
	// Live says where a live process has the function, nil if it was read from a file.
	Live *Live

	file      *File
	versions  []string // symbols with their versions
	unbounded bool     // whether nothing says that an instruction begins at Address
	asked     uint64   // the address that [Process.Instructions] looked up
}

// Typed has the arguments and results of a function, by names and types of debugging information.
type Typed struct {
	Arguments []Variable // where they are at the entry
	Results   []Variable // where they are at the return
	Known     bool       // whether debugging information knows the function
	Err       error      // why some are missing, nil if none are
}

// Functions returns the functions that the object defines, by address, each once
// however many symbols name it. It reads the object's own symbol tables, the one in
// .gnu_debugdata, and a Go program's table of functions. If the object has been
// stripped, it also reads the file with its debug symbols, provided that the object
// was opened by its path or is one of the system's (SECURITY.md). It leaves out the
// parts of functions that compilers move elsewhere, called "NAME.cold": a return
// probe there would change a word that is not a return address. An error stands for a
// table that could not be read; functions follow.
func (f *File) Functions() iter.Seq2[Function, error] {
	return func(yield func(Function, error) bool) {
		entries, golang, errs := f.functions()
		for _, err := range errs {
			if !yield(Function{}, f.errorf(err)) {
				return
			}
		}
		code := f.code()
		isGo := code.IsGo()
		base := Function{Path: f.path, file: f}
		if code != f {
			base.OpenPath = code.path
		}
		names := make([]string, 0, len(entries))
		for i, n := 0, 0; i < len(entries); i += n {
			fn, first := base, len(names)
			fn.Address, fn.Size = entries[i].addr, entries[i].size
			for n = 0; i+n < len(entries) && entries[i+n].addr == fn.Address; n++ {
				e := &entries[i+n]
				fn.Resolver = fn.Resolver || e.typ == elf.STT_GNU_IFUNC
				fn.Size = max(fn.Size, e.size)
				if len(names)-first < maxAliases && !slices.Contains(names[first:], e.name) {
					names = append(names, e.name)
				}
				if e.version != "" && len(fn.versions) < maxAliases && !slices.Contains(fn.versions, e.name+e.version) {
					fn.versions = append(fn.versions, e.name+e.version)
				}
			}
			fn.Symbols = names[first:len(names):len(names)]
			if fn.Convention = golang.convention(&fn); golang == nil && isGo {
				fn.Convention = GoUnknown
			}
			fn.Offset, fn.SiteErr = code.layout.site(fn.Address)
			if !yield(fn, nil) {
				return
			}
		}
	}
}

// maxAliases is the largest number of symbols yielded for one address.
const maxAliases = 64

// functionSymbol is a symbol that names a function.
type functionSymbol struct {
	addr, size  uint64
	name        string
	version     string // with '@' or '@@' before it
	typ         elf.SymType
	local       bool
	underscores int
}

// functions returns the symbols of functions, by address and then by how well they
// fit.
func (f *File) functions() ([]functionSymbol, *pclntab, []error) {
	var out []functionSymbol
	var errs []error
	syms := f.symbols()
	for i, table := range syms.tables {
		if i == debugTable && f.hasSymtab() {
			break
		}
		t, err := table()
		if err != nil {
			errs = append(errs, err)
		} else if t != nil {
			if out, err = t.appendFunctions(out); err != nil {
				errs = append(errs, err)
			}
		}
	}
	golang, err := syms.pclntab()
	if err == nil {
		out, err = golang.appendFunctions(out)
	}
	if err != nil {
		errs = append(errs, err)
	}
	slices.SortStableFunc(out, func(a, b functionSymbol) int {
		if c := cmp.Compare(a.addr, b.addr); c != 0 {
			return c
		}
		if a.local != b.local {
			if b.local {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.underscores, b.underscores)
	})
	return out, golang, errs
}

// hasSymtab reports whether the file has not been stripped.
func (f *File) hasSymtab() bool {
	return slices.ContainsFunc(f.elf.Sections, func(s elf.SectionHeader) bool { return s.Type == elf.SHT_SYMTAB })
}

// maxOverlap is how often names may use a byte of a table's strings, on average:
// linkers merge names that end alike.
const maxOverlap = 16

var errOverlap = errors.New("the names in a symbol table overlap more than those of any linker")

// appendFunctions appends the table's functions.
func (t *symtab) appendFunctions(out []functionSymbol) ([]functionSymbol, error) {
	out = slices.Grow(out, len(t.functions))
	names, left := string(t.strings), maxOverlap*len(t.strings)
	for _, i := range t.functions {
		s := &t.symbols[i]
		if uint64(s.name) >= uint64(len(names)) {
			continue
		}
		name := names[s.name:]
		if end := strings.IndexByte(name, 0); end >= 0 {
			name = name[:end]
		}
		if left -= len(name); mangled.Is(name) {
			left -= 7 * len(name) // writing them out may take more
		}
		if left < 0 {
			return out, errOverlap
		}
		version := t.versionOf(s)
		// GNU ld writes versions into .symtab: "name@VERSION", "name@@VERSION".
		if at := strings.IndexByte(name, '@'); at > 0 {
			name, version = name[:at], name[at:]
		}
		if name == "" || isPart(name) || isBoundary(name) {
			continue
		}
		out = append(out, functionSymbol{
			addr: s.addr, size: s.size, name: name, version: version, typ: s.typ, local: s.local,
			underscores: len(name) - len(strings.TrimLeft(name, "_")),
		})
	}
	return out, nil
}

// isPart reports whether the symbol names code that a function jumps to: GCC's and
// LLVM's "NAME.cold", also followed by a number.
func isPart(name string) bool {
	i := strings.LastIndex(name, ".cold")
	return i > 0 && strings.Trim(name[i+len(".cold"):], ".0123456789") == ""
}

// isBoundary reports whether Go's linker puts the symbol where functions begin or
// end.
func isBoundary(name string) bool {
	return name == "runtime.text" || name == "runtime.etext" || strings.HasPrefix(name, "runtime.text.")
}

// Name returns the function's name as its source has it: demangled, with the
// types of its parameters, if the language is C++ or Rust.
func (fn *Function) Name() string {
	if len(fn.Symbols) == 0 {
		return ""
	}
	return mangled.Source(fn.Symbols[0])
}

// Versioned returns the symbol with its version ("memcpy@GLIBC_2.2.5", or "@@" for the
// version that programs are linked with), "" if it has none. Functions of several
// addresses may have one symbol, each in versions of its own.
func (fn *Function) Versioned(symbol string) string {
	for _, v := range fn.versions {
		if name, _, _ := strings.Cut(v, "@"); name == symbol {
			return v
		}
	}
	return ""
}

// Match calls match with the function's names until it returns true: with its
// symbols, with these and their versions, then with each of them demangled, with and
// without the types of parameters. It returns the symbol's name as [Function.Name]
// would.
func (fn *Function) Match(match func(name string) bool) (name string, ok bool) {
	for _, s := range fn.Symbols {
		if match(s) {
			return mangled.Source(s), true
		}
	}
	for _, s := range fn.versions {
		if match(s) {
			return s, true
		}
	}
	for _, s := range fn.Symbols {
		if !mangled.Is(s) {
			continue
		}
		full := mangled.Source(s)
		if full != s && (match(full) || match(mangled.Source(s, demangle.NoParams))) {
			return full, true
		}
	}
	return "", false
}

// Entry returns the function's entry as a probe: its provider is the base name
// of the object, its name the function's, and its arguments are the ones that can be in
// registers; [Function.Argument] has more.
func (fn *Function) Entry() Probe { return fn.probe(Uprobe) }

// Return returns the return from the function as a probe, like Entry. Its only
// argument is the result.
func (fn *Function) Return() Probe { return fn.probe(Uretprobe) }

func (fn *Function) probe(kind ProbeKind) Probe {
	target := *fn
	p := Probe{
		Note: notes.Note{Provider: filepath.Base(fn.Path), Name: fn.Name(), Location: fn.Address},
		Path: fn.Path, OpenPath: fn.OpenPath, Offset: fn.Offset, SiteErr: fn.SiteErr,
		Live: fn.Live, Kind: kind, Target: &target, file: fn.file,
	}
	if len(fn.Symbols) == 0 {
		p.Name = fmt.Sprintf("%#x", fn.Address)
	}
	f := fn.file
	if f == nil {
		return p
	}
	p.BuildID, p.Machine, p.Class, p.ByteOrder = f.BuildID(), f.elf.Machine, f.elf.Class, f.elf.ByteOrder
	call := f.calls[fn.Convention]()
	p.Args = call.entry
	if kind == Uretprobe {
		p.Args = call.result
	}
	return p
}
