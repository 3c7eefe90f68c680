package reader

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
)

// pclntab is the table of functions in a Go program, which stripping keeps. Package
// gosym does not read it here, because that package trusts its input: names may
// overlap there, and are copied.
type pclntab struct {
	functions []goFunction // by address
	names     []byte
	registers bool // whether arguments are in registers
}

// goFunction is an entry of the table.
type goFunction struct {
	addr, end uint64
	name      uint32 // offset in names
}

// Magic numbers of the tables (internal/abi/symtab.go). Go 1.18 is the first version
// that passes arguments in registers on every architecture where Go does so.
const (
	go12  = 0xfffffffb
	go116 = 0xfffffffa
	go118 = 0xfffffff0
	go120 = 0xfffffff1
)

// maxPclntab is the largest number of bytes that are read: a program of 700 MB has
// 180 MB.
const maxPclntab = 384 << 20

// errPclntab says that a table is not one of a known version of Go.
var errPclntab = errors.New("the table of Go's functions is not as the known versions of Go have it")

// readPclntab reads .gopclntab. It returns nil if there is none.
func (f *File) readPclntab() (*pclntab, error) {
	s := f.elf.Section(".gopclntab")
	if s == nil {
		s = f.elf.Section(".data.rel.ro.gopclntab") // some position-independent executables
	}
	if s == nil {
		return nil, nil
	}
	data, err := f.elf.Data(s, maxPclntab)
	if err != nil {
		return nil, err
	}
	t, err := parsePclntab(data, f.elf.ByteOrder, func(count uint64) error { return f.elf.Spend(costSymbol * count) })
	if err != nil {
		return nil, fmt.Errorf("read section %s: %w", s.Name, err)
	}
	magic := f.elf.ByteOrder.Uint32(data)
	t.registers = (magic == go118 || magic == go120) && f.elf.Class == elf.ELFCLASS64
	if magic == go12 || magic == go116 {
		return t, nil // its addresses are whole
	}
	for text := range f.goText(s.Addr, data, t) {
		if text.sure || t.has(f.elf.Entry-text.addr) {
			for i := range t.functions {
				t.functions[i].addr += text.addr
				t.functions[i].end += text.addr
			}
			return t, nil
		}
	}
	return nil, fmt.Errorf("find where the text begins: %w", errPclntab)
}

// parsePclntab reads the table in data: runtime/symtab.go, pcHeader and functab, of
// all versions since Go 1.2. From Go 1.18 on, addresses are distances from the
// beginning of the text. parsePclntab calls spend with a number of functions before
// it decodes them.
func parsePclntab(data []byte, bo binary.ByteOrder, spend func(count uint64) error) (*pclntab, error) {
	if len(data) < 16 || data[4] != 0 || data[5] != 0 || data[7] != 4 && data[7] != 8 {
		return nil, errPclntab
	}
	ptr := int(data[7])
	word := func(b []byte, size int) uint64 {
		switch {
		case len(b) < size:
			return 1 << 63 // beyond everything
		case size == 4:
			return uint64(bo.Uint32(b))
		}
		return bo.Uint64(b)
	}
	from := func(b []byte, off uint64) []byte { return b[min(off, uint64(len(b))):] }
	between := func(off, end uint64) []byte { // the tables are in the order of the header
		b := from(data, off)
		if end <= off {
			return b
		}
		return b[:min(end-off, uint64(len(b)))]
	}
	header := func(n int) uint64 { return word(from(data, uint64(8+n*ptr)), ptr) }
	count, field := header(0), ptr
	var names, table, funcs []byte // function offsets count from funcs
	switch bo.Uint32(data) {
	case go118, go120:
		names, table, funcs, field = between(header(3), header(4)), from(data, header(7)), from(data, header(7)), 4
	case go116:
		names, table, funcs = between(header(2), header(3)), from(data, header(6)), from(data, header(6))
	case go12:
		names, table, funcs = data, from(data, uint64(8+ptr)), data
	default:
		return nil, errPclntab
	}
	if count > uint64(len(table)/field)/2 {
		return nil, errPclntab
	}
	if err := spend(count); err != nil {
		return nil, err
	}
	t := &pclntab{names: names, functions: make([]goFunction, 0, count)}
	for i := range int(count) {
		entry := table[2*i*field:]
		fn := goFunction{addr: word(entry, field), end: word(from(entry, uint64(2*field)), field)}
		// runtime/runtime2.go: type _func, its entry and then its name.
		info := from(funcs, word(from(entry, uint64(field)), field))
		if len(info) < field+4 || fn.end < fn.addr {
			continue
		}
		if fn.name = bo.Uint32(info[field:]); uint64(fn.name) < uint64(len(names)) {
			t.functions = append(t.functions, fn)
		}
	}
	slices.SortStableFunc(t.functions, func(a, b goFunction) int { return cmp.Compare(a.addr, b.addr) })
	return t, nil
}

// has reports whether a function begins at addr.
func (t *pclntab) has(addr uint64) bool {
	_, ok := slices.BinarySearchFunc(t.functions, addr, func(fn goFunction, addr uint64) int { return cmp.Compare(fn.addr, addr) })
	return ok
}

// goTextAddress is a candidate for the address from which the table's addresses
// count.
type goTextAddress struct {
	addr uint64
	sure bool // whether it is certain; otherwise the file's entry point must be a function
}

// goText yields candidates for the address of runtime.text. In programs that use cgo,
// the linker puts C functions before it, and a wrong address would put probes into
// the middle of instructions.
func (f *File) goText(header uint64, data []byte, t *pclntab) iter.Seq[goTextAddress] {
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
		if addr, ok := f.moduleText(header, size, t); ok && in(addr) {
			yield(goTextAddress{addr, true})
			return
		}
		// pcHeader.textStart, until Go 1.25
		if addr := f.pointer(header+8+2*size, size); in(addr) {
			yield(goTextAddress{addr, true})
			return
		}
		yield(goTextAddress{text.Addr, false})
	}
}

// maxModuleWords is the number of words of moduledata among which moduleText looks.
const maxModuleWords = 48

// moduleText returns moduledata.text (runtime/symtab.go), which section .go.module has
// since Go 1.26. It is known by its neighbours: moduledata also has where the first
// function begins and the last one ends.
func (f *File) moduleText(header, size uint64, t *pclntab) (uint64, bool) {
	s := f.elf.Section(".go.module")
	if s == nil || len(t.functions) == 0 || f.pointer(s.Addr, size) != header {
		return 0, false
	}
	words := map[uint64]bool{}
	for i := range uint64(maxModuleWords) {
		words[f.pointer(s.Addr+i*size, size)] = true
	}
	first, last := t.functions[0].addr, t.functions[len(t.functions)-1].end
	for i := range uint64(maxModuleWords) {
		if addr := f.pointer(s.Addr+i*size, size); addr != 0 && words[addr+first] && words[addr+last] {
			return addr, true
		}
	}
	return 0, false
}

// appendFunctions appends the table's functions.
func (t *pclntab) appendFunctions(out []functionSymbol) ([]functionSymbol, error) {
	if t == nil {
		return out, nil
	}
	names, left := string(t.names), maxOverlap*len(t.names)
	for _, fn := range t.functions {
		name, _, ok := strings.Cut(names[fn.name:], "\x00")
		if left -= len(name); left < 0 {
			return out, errOverlap
		}
		if ok && name != "" {
			out = append(out, functionSymbol{addr: fn.addr, size: fn.end - fn.addr, name: name, typ: elf.STT_FUNC, local: true})
		}
	}
	return out, nil
}

// convention returns the convention of fn, a function of the table's file.
func (t *pclntab) convention(fn *Function) Convention {
	switch {
	case t == nil || !t.has(fn.Address):
		return CConvention
	case !t.registers || slices.ContainsFunc(fn.Symbols, func(s string) bool { return strings.HasSuffix(s, ".abi0") }):
		return GoStack
	}
	return GoRegisters
}

// function returns the name and address of the function that holds addr.
func (t *pclntab) function(addr uint64) (name string, start uint64, ok bool) {
	if t == nil {
		return "", 0, false
	}
	i, _ := slices.BinarySearchFunc(t.functions, addr, func(fn goFunction, addr uint64) int {
		if fn.addr <= addr {
			return -1
		}
		return 1
	})
	if i == 0 || addr >= t.functions[i-1].end {
		return "", 0, false
	}
	fn := &t.functions[i-1]
	text := t.names[fn.name:]
	end := bytes.IndexByte(text[:min(len(text), maxGoName)], 0)
	if end <= 0 {
		return "", 0, false
	}
	return string(text[:end]), fn.addr, true
}

// maxGoName is the length of the longest name that is returned: names of generic
// functions contain those of their types.
const maxGoName = 64 << 10
