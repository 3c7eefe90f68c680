// Package elfsym names code by the symbol tables of ELF files.
//
// The layout is that of the System V ABI:
// https://gabi.xinuos.com/elf/05-symtab.html
package elfsym

import (
	"cmp"
	"debug/elf"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-usdt/usdt/internal/safeelf"
	"github.com/go-usdt/usdt/symbols/internal/span"
)

const (
	// maxSymbols is the largest number of bytes that are read of a symbol table: 11
	// million symbols.
	maxSymbols = 256 << 20
	// maxStrings is the same for the names.
	maxStrings = 1 << 30
	// MaxName is the length in bytes of the longest name that is returned.
	MaxName = 64 << 10
	// costSymbol is what reading a symbol costs of the file's budget.
	costSymbol = 64
)

// Table is what a symbol table says about code. Names stay in the file until they are
// asked for.
type Table struct {
	spans   *span.Table
	symbols []symbol // by address, the more fitting first
	strings io.ReaderAt
	memory  int64 // of strings that had to be decompressed
}

type symbol struct {
	addr uint64
	name uint32 // offset in strings
	rank uint32
}

// New reads the symbol table of type typ, SHT_SYMTAB or SHT_DYNSYM. It returns nil if
// there is none.
func New(f *safeelf.File, typ elf.SectionType) (*Table, error) {
	data, size, names, err := rawSymbols(f, typ)
	if names == nil || err != nil {
		return nil, err
	}
	strings, held, err := f.Open(names, maxStrings)
	if err != nil {
		return nil, err
	}
	t := &Table{strings: strings, memory: held}
	t.read(f, data, size)
	return t, nil
}

// rawSymbols returns the symbols of a table, of so many bytes each, and the section of their names,
// which is nil if there is no such table.
func rawSymbols(f *safeelf.File, typ elf.SectionType) (data []byte, size int, names *elf.SectionHeader, err error) {
	i := slices.IndexFunc(f.Sections, func(s elf.SectionHeader) bool { return s.Type == typ })
	if i < 0 {
		return nil, 0, nil, nil
	}
	s := &f.Sections[i]
	if uint64(s.Link) >= uint64(len(f.Sections)) {
		return nil, 0, nil, fmt.Errorf("section %s names no section of strings", s.Name)
	}
	if data, err = f.Data(s, maxSymbols); err != nil {
		return nil, 0, nil, err
	}
	size = 24 // sizeof(Elf64_Sym)
	if f.Class == elf.ELFCLASS32 {
		size = 16
	}
	if err := f.Spend(costSymbol * uint64(len(data)/size)); err != nil {
		return nil, 0, nil, fmt.Errorf("read section %s: %w", s.Name, err)
	}
	return data, size, &f.Sections[s.Link], nil
}

// read decodes the symbols that are code.
func (t *Table) read(f *safeelf.File, data []byte, size int) {
	spans := make([]span.Span, 0, len(data)/size)
	t.symbols = make([]symbol, 0, len(data)/size)
	var open []int // of spans: symbols without a size
	bo := f.ByteOrder
	for ; len(data) >= size; data = data[size:] {
		var info byte
		var shndx uint16
		var length uint64
		s := symbol{name: bo.Uint32(data)}
		if f.Class == elf.ELFCLASS32 {
			s.addr, length = uint64(bo.Uint32(data[4:])), uint64(bo.Uint32(data[8:]))
			info, shndx = data[12], bo.Uint16(data[14:])
		} else {
			info, shndx = data[4], bo.Uint16(data[6:])
			s.addr, length = bo.Uint64(data[8:]), bo.Uint64(data[16:])
		}
		typ, bind := elf.ST_TYPE(info), elf.ST_BIND(info)
		function := typ == elf.STT_FUNC || typ == elf.STT_GNU_IFUNC
		if s.name == 0 || !function && typ != elf.STT_NOTYPE || shndx == uint16(elf.SHN_UNDEF) || shndx == uint16(elf.SHN_ABS) {
			continue
		}
		limit, ok := codeEnd(f, shndx, s.addr)
		if !ok {
			continue
		}
		if f.Machine == elf.EM_ARM && function {
			s.addr &^= 1 // set for Thumb code
		}
		if !function && t.isMapping(f, s.name) {
			continue
		}
		sp := span.Span{Low: s.addr, High: limit, Rank: rank(function, bind)}
		if length != 0 {
			sp.High = min(s.addr+length, limit)
			sp.Rank += sized
		} else {
			open = append(open, len(spans))
		}
		s.rank = sp.Rank
		t.symbols = append(t.symbols, s)
		spans = append(spans, sp)
	}
	closeSpans(spans, open)
	// Spans belong to addresses. The best fitting symbols of an address come first.
	slices.SortStableFunc(t.symbols, func(a, b symbol) int {
		return cmp.Or(cmp.Compare(a.addr, b.addr), cmp.Compare(b.rank, a.rank))
	})
	first := make(map[uint64]uint32, len(t.symbols))
	for i := range slices.Backward(t.symbols) {
		first[t.symbols[i].addr] = uint32(i)
	}
	for i := range spans {
		spans[i].ID = first[spans[i].Low]
	}
	t.symbols, t.spans = slices.Clip(t.symbols), span.New(spans)
}

// sized is added to the rank of symbols that have a size: they are right about where
// they end.
const sized = 8

// rank prefers functions to labels, and names that other objects may use.
func rank(function bool, bind elf.SymBind) uint32 {
	r := uint32(0)
	if function {
		r += 4
	}
	if bind == elf.STB_GLOBAL || bind == elf.STB_WEAK {
		r++
	}
	return r
}

// codeEnd returns the end of the section with executable code in which a symbol lies.
// ok is false if the section has no code.
func codeEnd(f *safeelf.File, shndx uint16, addr uint64) (end uint64, ok bool) {
	if int(shndx) >= len(f.Sections) {
		return 0, false
	}
	s := &f.Sections[shndx]
	if s.Flags&elf.SHF_EXECINSTR == 0 || addr-s.Addr >= s.Size {
		return 0, false
	}
	return s.Addr + s.Size, true
}

// isMapping reports whether the symbol says what kind of bytes follow, as the mapping symbols of
// ARM and RISC-V do ($x, $d).
func (t *Table) isMapping(f *safeelf.File, name uint32) bool {
	switch f.Machine {
	case elf.EM_ARM, elf.EM_AARCH64, elf.EM_RISCV:
		var b [1]byte
		n, _ := t.strings.ReadAt(b[:], int64(name))
		return n == 1 && b[0] == '$'
	}
	return false
}

// closeSpans ends the spans of symbols without a size, which are those with the given
// indices, where the next symbol begins.
func closeSpans(spans []span.Span, open []int) {
	if len(open) == 0 {
		return
	}
	starts := make([]uint64, len(spans))
	for i := range spans {
		starts[i] = spans[i].Low
	}
	slices.Sort(starts)
	for _, i := range open {
		n, _ := slices.BinarySearch(starts, spans[i].Low+1)
		if n < len(starts) {
			spans[i].High = min(spans[i].High, starts[n])
		}
	}
}

// Function returns the name and address of the symbol that holds addr, as it is in
// the table.
func (t *Table) Function(addr uint64) (name string, start uint64, ok bool) {
	if t == nil {
		return "", 0, false
	}
	id, ok := t.spans.Find(addr)
	if !ok {
		return "", 0, false
	}
	best := &t.symbols[id]
	for i := int(id); i < min(len(t.symbols), int(id)+maxAliases); i++ {
		s := &t.symbols[i]
		if s.addr != best.addr || s.rank != best.rank {
			break
		}
		other, _ := safeelf.String(t.strings, uint64(s.name), MaxName)
		if other = withoutVersion(other); other != "" && (name == "" || compareAliases(other, name) < 0) {
			name = other
		}
	}
	return name, best.addr, name != ""
}

// maxAliases is the number of symbols of one function that are looked at.
const maxAliases = 32

// compareAliases is negative if a is the better name of a function that has both.
func compareAliases(a, b string) int {
	return cmp.Or(cmp.Compare(underscores(a), underscores(b)), cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}

// underscores returns the number of underscores with which a name begins: names with
// fewer are for users. A name that the compiler made counts as one with many.
func underscores(name string) int {
	if strings.ContainsRune(name, '.') {
		return 100
	}
	return len(name) - len(strings.TrimLeft(name, "_"))
}

// withoutVersion removes the version that linkers put behind names in .symtab
// (memcpy@@GLIBC_2.14).
func withoutVersion(name string) string {
	if i := strings.IndexByte(name, '@'); i > 0 {
		return name[:i]
	}
	return name
}

// Size returns the number of bytes of memory that the table takes.
func (t *Table) Size() int64 {
	if t == nil {
		return 0
	}
	return t.spans.Size() + int64(16*cap(t.symbols)) + t.memory
}
