package reader

import (
	"debug/elf"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/go-usdt/usdt/internal/debugfile"
	"github.com/go-usdt/usdt/internal/mangled"
	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/notes"
)

// ErrNoSymbol is wrapped by the error for a symbol that none of the object's
// symbol tables has.
var ErrNoSymbol = errors.New("symbol not found")

// symbols are the places where a file's symbols may be, the cheapest first. Each is
// read only if the ones before it do not have the answer.
type symbols struct {
	tables  []func() (*symtab, error)
	pclntab func() (*pclntab, error)
}

// debugTable is the index of the table that another file has.
const debugTable = 3

func (f *File) newSymbols() *symbols {
	own := func(typ elf.SectionType) func() (*symtab, error) {
		return sync.OnceValues(func() (*symtab, error) { return newSymtab(f.elf, typ) })
	}
	return &symbols{
		tables: []func() (*symtab, error){
			own(elf.SHT_SYMTAB),
			own(elf.SHT_DYNSYM),
			sync.OnceValues(f.debugdata),
			sync.OnceValues(f.debugFile),
		},
		pclntab: sync.OnceValues(f.readPclntab),
	}
}

// debugdata reads the symbols in .gnu_debugdata.
func (f *File) debugdata() (*symtab, error) {
	e, err := f.elf.Debugdata()
	if e == nil || err != nil {
		return nil, err
	}
	return newSymtab(e, elf.SHT_SYMTAB)
}

// Function returns the name of the function in which the site lies, demangled if its
// language is C++ or Rust, and the site's distance from the function's start. The
// error wraps [ErrNoSymbol] if no symbol covers the site. The File or Process that
// the probe is from must still be open.
func (p *Probe) Function() (name string, offset uint64, err error) {
	if p.file == nil {
		return "", 0, errNoFile
	}
	addr := p.Location + p.Delta
	syms := p.file.symbols()
	var errs []error
	for _, table := range syms.tables {
		t, err := table()
		if err != nil {
			errs = append(errs, err)
		} else if name, start, ok := t.function(addr); ok {
			return mangled.Source(name), addr - start, nil
		}
	}
	golang, err := syms.pclntab()
	if err != nil {
		errs = append(errs, err)
	} else if name, start, ok := golang.function(addr); ok {
		return name, addr - start, nil
	}
	if err := errors.Join(errs...); err != nil {
		return "", 0, err
	}
	return "", 0, fmt.Errorf("function at %#x: %w", addr, ErrNoSymbol)
}

// Resolve returns the number that a.Symbol stands for in the argument, without Disp.
// Depending on a.Reloc, it is
//
//	""                  the address
//	"GOTPCREL", "GOT"   also the address: what the slot of the global offset
//	                    table holds, so that the operand's value is the
//	                    address itself, not memory there
//	"GOTOFF"            the distance from the global offset table
//	"tpoff", "ntpoff"   the distance from the thread pointer, negative
//	"lo12"              the low 12 bits of the address with Disp added, less
//	                    Disp: they are the same wherever the object is loaded
//
// In a live process, addresses are higher by as much as the site's is. The error
// says if a symbol may stand for several definitions, or is a label of the
// compiler's own such as .LANCHOR0, which objects do not keep. The File or Process
// that the probe is from must still be open.
func (p *Probe) Resolve(a *notes.Arg) (uint64, error) {
	if p.file == nil {
		return 0, errNoFile
	}
	return p.file.Resolve(a)
}

// Resolve is like [Probe.Resolve], for an argument of any of the file's probes.
func (f *File) Resolve(a *notes.Arg) (uint64, error) {
	switch a.Reloc {
	case "", "GOTPCREL", "GOT":
		return f.address(a.Symbol, false)
	case "GOTOFF":
		addr, err := f.address(a.Symbol, false)
		if err != nil {
			return 0, err
		}
		got, err := f.got()
		return addr - got, err
	case "tpoff", "ntpoff":
		off, err := f.address(a.Symbol, true)
		if err != nil {
			return 0, err
		}
		return f.threadOffset(off)
	case "lo12":
		addr, err := f.address(a.Symbol, false)
		if err != nil {
			return 0, err
		}
		return (addr+uint64(a.Disp))&0xfff - uint64(a.Disp), nil
	}
	return 0, fmt.Errorf("symbol %s: relocation @%s is not supported", a.Symbol, a.Reloc)
}

// address looks a symbol up in the first table that has it.
func (f *File) address(name string, tls bool) (uint64, error) {
	var errs []error
	for _, table := range f.symbols().tables {
		t, err := table()
		if err != nil {
			errs = append(errs, err)
			continue
		}
		switch found := t.lookup(name, tls); len(found) {
		case 0:
		case 1:
			return found[0], nil
		default:
			return 0, fmt.Errorf("symbol %s is ambiguous: the object defines it at %#x", name, found)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return 0, fmt.Errorf("symbol %s: %w", name, err)
	}
	if f.imports(name) {
		return 0, fmt.Errorf("symbol %s is in another object, which the dynamic linker chooses: %w in this one", name, ErrNoSymbol)
	}
	if strings.HasPrefix(name, ".L") {
		return 0, fmt.Errorf("symbol %s is a label of the compiler's own, which ends with the assembler%s: %w", name, anchorAdvice(name), ErrNoSymbol)
	}
	return 0, fmt.Errorf("symbol %s: %w", name, ErrNoSymbol)
}

// anchorAdvice says how to make gcc name variables themselves, not their distance
// from the first one of a section (gcc's varasm.cc, section anchors).
func anchorAdvice(name string) string {
	if strings.HasPrefix(name, ".LANCHOR") {
		return " (gcc -fno-section-anchors names the variable)"
	}
	return ""
}

// imports reports whether the object uses another object's symbol with this name.
func (f *File) imports(name string) bool {
	for _, table := range f.symbols().tables[:2] {
		if t, err := table(); err == nil && t.hasImport(name) {
			return true
		}
	}
	return false
}

// gotAddress returns the address of _GLOBAL_OFFSET_TABLE_. On x86 this is the start
// of .got.plt or, without one, of .got (System V ABI, i386 supplement).
func (f *File) gotAddress() (uint64, error) {
	for _, name := range []string{".got.plt", ".got"} {
		if i := slices.IndexFunc(f.elf.Sections, func(s elf.SectionHeader) bool { return s.Name == name }); i >= 0 {
			return f.elf.Sections[i].Addr, nil
		}
	}
	return 0, errors.New("the object has no global offset table")
}

// threadOffset converts an offset in the TLS segment of an executable to one from the
// thread pointer, which x86 puts behind the segment (ELF Handling for Thread-Local
// Storage, variant II).
func (f *File) threadOffset(off uint64) (uint64, error) {
	if f.elf.Machine != elf.EM_X86_64 && f.elf.Machine != elf.EM_386 {
		return 0, fmt.Errorf("thread-local symbols of %v are not supported", f.elf.Machine)
	}
	for _, p := range f.elf.Progs {
		if p.Type == elf.PT_TLS {
			align := max(p.Align, 1)
			size := p.Memsz + (-p.Vaddr-p.Memsz)%align
			return off - size, nil
		}
	}
	return 0, errors.New("the object has no thread-local memory")
}

// debugFile reads the symbols in the separate file that belongs to f, found by its
// build-id or by its .gnu_debuglink. It returns nil if there is none.
//
// The author of a file chooses both. So debugFile looks beside a file only if the
// user named it. For a file that a process has mapped, it reads the one in
// debugfile.Dir, by its build-id, if the mapped file is one of the system's.
func (f *File) debugFile() (*symtab, error) {
	if !f.named && !f.isInstalled() {
		return nil, nil
	}
	d := debugfile.ByID(debugfile.Dir, f.BuildID())
	if d == nil && f.named {
		d = debugfile.ByLink(f.elf, f.path, debugfile.Dir)
	}
	if d == nil {
		return nil, nil
	}
	defer d.Close()
	return newSymtab(d.ELF, elf.SHT_SYMTAB)
}

// isInstalled reports whether f is a file that only root and this user can change.
func (f *File) isInstalled() bool {
	r, ok := f.reader.(procfs.Opened)
	return ok && procfs.Installed(r)
}
