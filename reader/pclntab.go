package reader

import (
	"debug/elf"
	"debug/gosym"
	"iter"
	"slices"
	"strings"
)

// pclntab is the table of functions in a Go program, which stripping leaves.
type pclntab struct {
	table     *gosym.Table
	registers bool // arguments are in them
	entries   map[uint64]bool
}

// Magic numbers of the tables since Go 1.18, the first version that passes
// arguments in registers wherever Go ever does (internal/abi/symtab.go).
const (
	go118 = 0xfffffff0
	go120 = 0xfffffff1
)

// readPclntab reads .gopclntab, nil without one that is understood. Package
// gosym trusts its input, so that it runs behind a recover and only when the
// number of functions is one for which the section has room.
func (f *File) readPclntab() (t *pclntab) {
	s := f.elf.Section(".gopclntab")
	if s == nil {
		s = f.elf.Section(".data.rel.ro.gopclntab") // some position-independent executables
	}
	if s == nil {
		return nil
	}
	data, err := f.elf.Data(s, maxSymbols)
	if err != nil || len(data) < 16 {
		return nil
	}
	// runtime/symtab.go: pcHeader
	var count uint64
	switch ptrSize := data[7]; ptrSize {
	case 4:
		count = uint64(f.elf.ByteOrder.Uint32(data[8:]))
	case 8:
		count = f.elf.ByteOrder.Uint64(data[8:])
	default:
		return nil
	}
	if count > uint64(len(data))/8 {
		return nil
	}
	defer func() {
		if recover() != nil {
			t = nil
		}
	}()
	for text := range f.goText(s.Addr, data) {
		table, err := gosym.NewTable(nil, gosym.NewLineTable(data, text.addr))
		if err != nil {
			return nil
		}
		t := &pclntab{table: table, entries: make(map[uint64]bool, len(table.Funcs))}
		for i := range table.Funcs {
			t.entries[table.Funcs[i].Entry] = true
		}
		if text.sure || t.entries[f.elf.Entry] {
			magic := f.elf.ByteOrder.Uint32(data)
			t.registers = (magic == go118 || magic == go120) && f.elf.Class == elf.ELFCLASS64
			return t
		}
	}
	return nil
}

// goTextAddress is where Go's functions may begin: what the table's addresses
// count from.
type goTextAddress struct {
	addr uint64
	sure bool // else the file's entry point has to be a function
}

// goText yields what may be the address of runtime.text. The linker puts C
// functions before it in programs that use cgo, and a wrong address would have
// probes put into the middle of instructions.
func (f *File) goText(header uint64, data []byte) iter.Seq[goTextAddress] {
	return func(yield func(goTextAddress) bool) {
		var text *elf.SectionHeader
		if text = f.elf.Section(".text"); text == nil {
			return
		}
		in := func(addr uint64) bool { return addr-text.Addr < text.Size }
		if addr, err := f.address("runtime.text", false); err == nil && in(addr) {
			yield(goTextAddress{addr, true})
			return
		}
		size := uint64(data[7])
		if s := f.elf.Section(".go.module"); s != nil {
			// runtime/symtab.go: moduledata.text, from Go 1.26 on
			if addr := f.pointer(s.Addr+22*size, size); in(addr) && f.pointer(s.Addr, size) == header {
				yield(goTextAddress{addr, true})
				return
			}
		}
		// pcHeader.textStart, until Go 1.25
		if addr := f.pointer(header+8+2*size, size); in(addr) {
			yield(goTextAddress{addr, true})
			return
		}
		yield(goTextAddress{text.Addr, false})
	}
}

// appendFunctions appends the table's functions.
func (t *pclntab) appendFunctions(out []functionSymbol) []functionSymbol {
	if t == nil {
		return out
	}
	for i := range t.table.Funcs {
		fn := &t.table.Funcs[i]
		if fn.Sym == nil || fn.Name == "" || fn.End < fn.Entry {
			continue
		}
		out = append(out, functionSymbol{addr: fn.Entry, size: fn.End - fn.Entry, name: fn.Name, typ: elf.STT_FUNC, local: true})
	}
	return out
}

// convention returns that of fn, a function of the file that t is of.
func (t *pclntab) convention(fn *Function) Convention {
	switch {
	case t == nil || !t.entries[fn.Address]:
		return CConvention
	case !t.registers || slices.ContainsFunc(fn.Symbols, func(s string) bool { return strings.HasSuffix(s, ".abi0") }):
		return GoStack
	}
	return GoRegisters
}

func (t *pclntab) function(addr uint64) (name string, start uint64, ok bool) {
	if t == nil {
		return "", 0, false
	}
	defer func() {
		if recover() != nil {
			name, start, ok = "", 0, false
		}
	}()
	fn := t.table.PCToFunc(addr)
	if fn == nil {
		return "", 0, false
	}
	return fn.Name, fn.Entry, true
}
