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

// maxSymbols bytes of a symbol table or of its strings are read.
const maxSymbols = 128 << 20

// symbol is an entry of a symbol table that has an address.
type symbol struct {
	addr, size uint64
	name       uint32 // offset in the table's strings
	typ        elf.SymType
	local      bool
}

// symtab is a symbol table, by address.
type symtab struct {
	symbols   []symbol
	undefined []symbol
	strings   []byte

	lookups atomic.Int32
	index   func() *nameIndex
}

// newSymtab reads the symbol table of type typ, SHT_SYMTAB or SHT_DYNSYM; nil
// if there is none.
func newSymtab(f *safeelf.File, typ elf.SectionType) (*symtab, error) {
	i := slices.IndexFunc(f.Sections, func(s elf.SectionHeader) bool { return s.Type == typ })
	if i < 0 {
		return nil, nil
	}
	s := &f.Sections[i]
	if uint64(s.Link) >= uint64(len(f.Sections)) {
		return nil, fmt.Errorf("section %s names no section of strings", s.Name)
	}
	data, err := f.Data(s, maxSymbols)
	if err != nil {
		return nil, err
	}
	strings, err := f.Data(&f.Sections[s.Link], maxSymbols)
	if err != nil {
		return nil, err
	}
	size := 24 // sizeof(Elf64_Sym)
	if f.Class == elf.ELFCLASS32 {
		size = 16
	}
	t := &symtab{strings: strings, symbols: make([]symbol, 0, len(data)/size)}
	for ; len(data) >= size; data = data[size:] {
		sym, defined, ok := decodeSymbol(f, data)
		switch {
		case ok && defined:
			t.symbols = append(t.symbols, sym)
		case ok:
			t.undefined = append(t.undefined, sym)
		}
	}
	slices.SortStableFunc(t.symbols, func(a, b symbol) int { return cmp.Compare(a.addr, b.addr) })
	t.index = sync.OnceValue(t.newNameIndex)
	return t, nil
}

// decodeSymbol decodes an Elf32_Sym or Elf64_Sym; ok is false for one without
// a name or that is no address, defined is false for one of another object.
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

// function returns the name and address of the function that holds addr.
func (t *symtab) function(addr uint64) (name string, start uint64, ok bool) {
	if t == nil {
		return "", 0, false
	}
	i, _ := slices.BinarySearchFunc(t.symbols, addr, func(s symbol, addr uint64) int {
		if s.addr <= addr {
			return -1
		}
		return 1
	})
	var best *symbol
	// Functions nest rarely and not deep.
	for n := 0; i > 0 && n < 1024; n++ {
		i--
		s := &t.symbols[i]
		if s.typ != elf.STT_FUNC && s.typ != elf.STT_GNU_IFUNC {
			continue
		}
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

// lookup returns the addresses of the symbols called name, each once. Thread-
// local ones have an offset in the TLS segment instead.
func (t *symtab) lookup(name string, tls bool) []uint64 {
	if t == nil {
		return nil
	}
	var out []uint64
	add := func(s *symbol) {
		if len(out) < maxAddresses && (s.typ == elf.STT_TLS) == tls && t.is(s, name) && !slices.Contains(out, s.addr) {
			out = append(out, s.addr)
		}
	}
	if t.lookups.Add(1) <= searches {
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

// imports reports whether the table has a symbol called name that another
// object defines.
func (t *symtab) imports(name string) bool {
	return t != nil && slices.ContainsFunc(t.undefined, func(s symbol) bool { return t.is(&s, name) })
}

func (t *symtab) is(s *symbol, name string) bool {
	end := uint64(s.name) + uint64(len(name))
	return end < uint64(len(t.strings)) && t.strings[end] == 0 && string(t.strings[s.name:end]) == name
}
