package reader

import (
	"bytes"
	"cmp"
	"debug/elf"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/go-usdt/usdt/internal/safeelf"
)

// maxSymbols is the largest number of bytes that are read of a symbol table or of its
// strings.
const maxSymbols = 128 << 20

// symbol is an entry of a symbol table that has an address.
type symbol struct {
	addr, size uint64
	name       uint32 // offset in the table's strings
	typ        elf.SymType
	local      bool
	version    uint16 // in .gnu.version; hidden if it is not the default one
}

// symtab is a symbol table, by address.
type symtab struct {
	symbols   []symbol
	undefined []symbol
	strings   []byte
	versions  map[uint16]string // by index

	functions []uint32 // indices of the symbols that are functions

	lookups atomic.Int32
	index   func() *nameIndex // of symbols
	imports func() *nameIndex // of undefined
}

// newSymtab reads the symbol table of type typ, SHT_SYMTAB or SHT_DYNSYM. It returns
// nil if there is none.
func newSymtab(f *safeelf.File, typ elf.SectionType) (*symtab, error) {
	i := slices.IndexFunc(f.Sections, func(s elf.SectionHeader) bool { return s.Type == typ })
	if i < 0 {
		return nil, nil
	}
	s := &f.Sections[i]
	if uint64(s.Link) >= uint64(len(f.Sections)) {
		return nil, fmt.Errorf("section %s names no section of strings", s.Name)
	}
	size := 24 // sizeof(Elf64_Sym)
	if f.Class == elf.ELFCLASS32 {
		size = 16
	}
	data, err := f.Data(s, maxSymbols)
	if err != nil {
		return nil, err
	}
	if err := f.Spend(costSymbol * uint64(len(data)/size)); err != nil {
		return nil, fmt.Errorf("read section %s: %w", s.Name, err)
	}
	strings, err := f.Data(&f.Sections[s.Link], maxSymbols)
	if err != nil {
		return nil, err
	}
	t := &symtab{strings: strings, symbols: make([]symbol, 0, len(data)/size)}
	var indices []byte
	if typ == elf.SHT_DYNSYM {
		indices = t.readVersions(f)
	}
	for ; len(data) >= size; data = data[size:] {
		sym, defined, ok := decodeSymbol(f, data)
		if len(indices) >= 2 {
			sym.version, indices = f.ByteOrder.Uint16(indices), indices[2:]
		}
		switch {
		case ok && defined:
			t.symbols = append(t.symbols, sym)
		case ok:
			t.undefined = append(t.undefined, sym)
		}
	}
	slices.SortStableFunc(t.symbols, func(a, b symbol) int { return cmp.Compare(a.addr, b.addr) })
	for i := range t.symbols {
		if typ := t.symbols[i].typ; typ == elf.STT_FUNC || typ == elf.STT_GNU_IFUNC {
			t.functions = append(t.functions, uint32(i))
		}
	}
	t.index = sync.OnceValue(func() *nameIndex { return t.newNameIndex(t.symbols) })
	t.imports = sync.OnceValue(func() *nameIndex { return t.newNameIndex(t.undefined) })
	return t, nil
}

// decodeSymbol decodes an Elf32_Sym or Elf64_Sym. ok is false if the symbol has no
// name or is no address; defined is false if it belongs to another object.
func decodeSymbol(f *safeelf.File, b []byte) (s symbol, defined, ok bool) {
	bo := f.ByteOrder
	var info byte
	var shndx uint16
	s.name = bo.Uint32(b)
	if f.Class == elf.ELFCLASS32 {
		s.addr, s.size = uint64(bo.Uint32(b[4:])), uint64(bo.Uint32(b[8:]))
		info, shndx = b[12], bo.Uint16(b[14:])
	} else {
		info, shndx = b[4], bo.Uint16(b[6:])
		s.addr, s.size = bo.Uint64(b[8:]), bo.Uint64(b[16:])
	}
	s.typ, s.local = elf.ST_TYPE(info), elf.ST_BIND(info) == elf.STB_LOCAL
	if f.Machine == elf.EM_ARM && s.typ == elf.STT_FUNC {
		s.addr &^= 1 // set for Thumb code
	}
	absolute := elf.SectionIndex(shndx) == elf.SHN_ABS
	return s, elf.SectionIndex(shndx) != elf.SHN_UNDEF, !absolute && s.name != 0 && s.typ != elf.STT_SECTION && s.typ != elf.STT_FILE
}

func (t *symtab) name(s *symbol) string {
	if uint64(s.name) >= uint64(len(t.strings)) {
		return ""
	}
	name := t.strings[s.name:]
	if i := bytes.IndexByte(name, 0); i >= 0 {
		return string(name[:i])
	}
	return ""
}

// namePrefix returns up to n bytes of the symbol's name.
func (t *symtab) namePrefix(s *symbol, n int) []byte {
	start := min(uint64(s.name), uint64(len(t.strings)))
	name, _, _ := bytes.Cut(t.strings[start:min(start+uint64(n), uint64(len(t.strings)))], []byte{0})
	return name
}

// maxNesting is the largest number of functions that may begin between an address and
// the beginning of the function that holds it: functions nest rarely and not deep.
const maxNesting = 256

// function returns the name and address of the function that holds addr.
func (t *symtab) function(addr uint64) (name string, start uint64, ok bool) {
	if t == nil {
		return "", 0, false
	}
	i, _ := slices.BinarySearchFunc(t.functions, addr, func(n uint32, addr uint64) int {
		if t.symbols[n].addr <= addr {
			return -1
		}
		return 1
	})
	var best *symbol
	for n := 0; i > 0 && n < maxNesting; n++ {
		i--
		s := &t.symbols[t.functions[i]]
		if addr-s.addr < s.size || s.size == 0 && best == nil && n == 0 {
			if best == nil || best.local && !s.local && s.addr == best.addr {
				best = s
			}
		}
		if best != nil && s.addr != best.addr {
			break
		}
	}
	if best == nil {
		return "", 0, false
	}
	return t.name(best), best.addr, true
}

// maxSymbolName is the length of the longest name that is looked up.
const maxSymbolName = 4 << 10

// lookup returns the addresses of the symbols called name, each once. For
// thread-local symbols it returns offsets in the TLS segment.
func (t *symtab) lookup(name string, tls bool) []uint64 {
	if t == nil || len(name) > maxSymbolName {
		return nil
	}
	var out []uint64
	add := func(s *symbol) {
		if len(out) < maxAddresses && (s.typ == elf.STT_TLS) == tls && !slices.Contains(out, s.addr) && t.is(s, name) {
			out = append(out, s.addr)
		}
	}
	// A long name, whose beginning many names may share, is compared with few.
	if len(name) < maxHashed && t.lookups.Add(1) <= searches {
		for i := range t.symbols {
			add(&t.symbols[i])
		}
		return out
	}
	for _, i := range t.index().find(name) {
		add(&t.symbols[i])
	}
	return out
}

// hasImport reports whether the table has a symbol called name that another
// object defines.
func (t *symtab) hasImport(name string) bool {
	return t != nil && len(name) <= maxSymbolName && slices.ContainsFunc(t.imports().find(name), func(i uint32) bool {
		return t.is(&t.undefined[i], name)
	})
}

func (t *symtab) is(s *symbol, name string) bool {
	end := uint64(s.name) + uint64(len(name))
	return end < uint64(len(t.strings)) && t.strings[end] == 0 && string(t.strings[s.name:end]) == name
}

// hiddenVersion is set in the index of a version that is not a symbol's default one
// (LSB, symbol versioning).
const hiddenVersion = 0x8000

// maxVersions is the largest number of bytes of a section about versions, and of
// versions.
const maxVersions = 16 << 20

// readVersions reads the versions that the object defines, and returns the contents of
// .gnu.version: an index for each symbol. If the object defines none, symbols have no versions.
func (t *symtab) readVersions(f *safeelf.File) (indices []byte) {
	defs := f.Section(".gnu.version_d")
	s := f.Section(".gnu.version")
	if defs == nil || s == nil || defs.Type != elf.SHT_GNU_VERDEF {
		return nil
	}
	data, err := f.Data(defs, maxVersions)
	if err != nil {
		return nil
	}
	if indices, err = f.Data(s, maxVersions); err != nil {
		return nil
	}
	bo := f.ByteOrder
	t.versions = map[uint16]string{}
	for len(data) >= 20 && len(t.versions) < 1<<15 { // Elf32_Verdef and Elf64_Verdef are the same
		index, aux, next := bo.Uint16(data[4:]), bo.Uint32(data[12:]), bo.Uint32(data[16:])
		if uint64(aux)+8 <= uint64(len(data)) { // Elf_Verdaux
			t.versions[index&^hiddenVersion] = t.name(&symbol{name: bo.Uint32(data[aux:])})
		}
		if next < 20 || uint64(next) > uint64(len(data)) {
			break
		}
		data = data[next:]
	}
	return indices
}

// versionOf returns the version of a symbol, with the marks that GNU's tools put before
// it: "@@GLIBC_2.34" for the default one, "@GLIBC_2.2.5" for others.
func (t *symtab) versionOf(s *symbol) string {
	name := t.versions[s.version&^hiddenVersion]
	switch {
	case name == "" || s.version&^hiddenVersion < 2: // VER_NDX_LOCAL, VER_NDX_GLOBAL
		return ""
	case s.version&hiddenVersion != 0:
		return "@" + name
	}
	return "@@" + name
}
