package libbpf

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

const (
	// CookieExtern is the variable by which programs ask whether the kernel
	// passes them cookies.
	CookieExtern = "LINUX_HAS_BPF_COOKIE"

	// AnswerSection is the section that holds the answer. Loaders make a constant map of a section
	// of this prefix, so that the verifier sees which branch is dead.
	AnswerSection = ".rodata.usdt"
)

// maxZero bounds sections that hold no bytes in the file (.bss): a loader
// allocates as much as their headers say.
const maxZero = 256 << 20

const sizeofSym = 24 // Elf64_Sym

// Patch returns a copy of the relocatable object in which
//   - maps that are weak symbols are global ones;
//   - LINUX_HAS_BPF_COOKIE, a variable that nobody defines, is defined and true;
//   - functions that are hidden are static in the type information, which has
//     the verifier check them with each call, knowing the arguments, and not by
//     themselves, when it would refuse bpf_usdt_arg for storing through a
//     pointer that might be null.
//
// An object without any of these is returned as it is. Patch moves nothing in the
// object: it appends what it adds.
func Patch(object []byte) ([]byte, error) {
	o, err := parse(slices.Clone(object))
	if err != nil {
		return nil, err
	}
	changes, err := o.patchSymbols()
	if err != nil {
		return nil, err
	}
	if s := o.find(".BTF"); s != nil {
		btf := o.data(s)
		if len(changes.hidden) > 0 {
			err = makeStatic(btf, changes.hidden)
		}
		if len(changes.externs) > 0 && err == nil {
			err = dropVariable(btf, ".kconfig", CookieExtern)
		}
		if err != nil {
			return nil, fmt.Errorf("type information of the object: %w", err)
		}
	}
	if len(changes.externs) == 0 {
		return o.bytes, nil
	}
	return o.define(changes.externs)
}

// object is an ELF object whose section table has been checked.
type object struct {
	bytes    []byte
	header   elf.Header64
	sections []elf.Section64
	names    []byte
}

var order = binary.LittleEndian

func parse(b []byte) (*object, error) {
	if len(b) < 64 || string(b[:4]) != elf.ELFMAG {
		return nil, errors.New("not an ELF file")
	}
	if elf.Class(b[elf.EI_CLASS]) != elf.ELFCLASS64 || elf.Data(b[elf.EI_DATA]) != elf.ELFDATA2LSB {
		return nil, errors.New("not a 64-bit little-endian ELF object: compile with -target bpf on this machine")
	}
	o := &object{bytes: b}
	h := &o.header
	if _, err := binary.Decode(b, order, h); err != nil {
		return nil, fmt.Errorf("read ELF header: %w", err)
	}
	// Old compilers left the machine unset.
	if m := elf.Machine(h.Machine); m != elf.EM_BPF && m != elf.EM_NONE {
		return nil, fmt.Errorf("an object for %v, not for BPF", m)
	}
	size := binary.Size(elf.Section64{})
	table := slice(b, h.Shoff, uint64(h.Shnum)*uint64(size))
	if h.Shnum == 0 || int(h.Shentsize) != size || table == nil {
		return nil, errors.New("section table is missing or lies outside the file")
	}
	o.sections = make([]elf.Section64, h.Shnum)
	if _, err := binary.Decode(table, order, o.sections); err != nil {
		return nil, fmt.Errorf("read section table: %w", err)
	}
	for i := range o.sections {
		s := &o.sections[i]
		switch elf.SectionType(s.Type) {
		case elf.SHT_NULL:
		case elf.SHT_NOBITS:
			if s.Size > maxZero {
				return nil, fmt.Errorf("section %d of %d zero bytes is larger than %d", i, s.Size, maxZero)
			}
		default:
			if o.data(s) == nil {
				return nil, fmt.Errorf("section %d lies outside the file", i)
			}
		}
	}
	if int(h.Shstrndx) >= len(o.sections) {
		return nil, fmt.Errorf("section names should be in section %d of %d", h.Shstrndx, len(o.sections))
	}
	o.names = o.data(&o.sections[h.Shstrndx])
	return o, nil
}

// slice returns b[off:off+size], nil if that lies outside.
func slice(b []byte, off, size uint64) []byte {
	if off > uint64(len(b)) || size > uint64(len(b))-off {
		return nil
	}
	return b[off : off+size : off+size]
}

func (o *object) data(s *elf.Section64) []byte {
	if elf.SectionType(s.Type) == elf.SHT_NOBITS {
		return nil
	}
	return slice(o.bytes, s.Off, s.Size)
}

func (o *object) name(s *elf.Section64) string { return text(o.names, s.Name) }

func (o *object) find(name string) *elf.Section64 {
	for i := range o.sections {
		if o.name(&o.sections[i]) == name {
			return &o.sections[i]
		}
	}
	return nil
}

// text returns the NUL-terminated string at off, empty if there is none.
func text(table []byte, off uint32) string {
	if uint64(off) >= uint64(len(table)) {
		return ""
	}
	table = table[off:]
	if end := slices.Index(table, 0); end >= 0 {
		return string(table[:end])
	}
	return ""
}

// changes are changes outside the symbol table that symbols require.
type changes struct {
	externs [][]byte        // symbols to be defined, each a part of the object's bytes
	hidden  map[string]bool // functions
}

// patchSymbols makes weak maps global.
func (o *object) patchSymbols() (c changes, err error) {
	c.hidden = map[string]bool{}
	for i := range o.sections {
		s := &o.sections[i]
		if elf.SectionType(s.Type) != elf.SHT_SYMTAB {
			continue
		}
		if int(s.Link) >= len(o.sections) {
			return c, fmt.Errorf("names of the symbol table should be in section %d of %d", s.Link, len(o.sections))
		}
		names := o.data(&o.sections[s.Link])
		for data := o.data(s); len(data) >= sizeofSym; data = data[sizeofSym:] {
			sym := data[:sizeofSym]
			name, index := text(names, order.Uint32(sym)), int(order.Uint16(sym[6:]))
			typ, bind := elf.ST_TYPE(sym[4]), elf.ST_BIND(sym[4])
			visibility := elf.ST_VISIBILITY(sym[5])
			switch {
			case elf.SectionIndex(index) == elf.SHN_UNDEF:
				if name == CookieExtern {
					c.externs = append(c.externs, sym)
				}
			case typ == elf.STT_FUNC:
				if bind != elf.STB_LOCAL && (visibility == elf.STV_HIDDEN || visibility == elf.STV_INTERNAL) {
					c.hidden[name] = true
				}
			case bind == elf.STB_WEAK && index < len(o.sections) && o.name(&o.sections[index]) == ".maps":
				sym[4] = elf.ST_INFO(elf.STB_GLOBAL, typ)
			}
		}
	}
	return c, nil
}

// define adds a section that holds a one and makes symbols name it.
func (o *object) define(externs [][]byte) ([]byte, error) {
	index := len(o.sections)
	if index >= int(elf.SHN_LORESERVE) {
		return nil, fmt.Errorf("an object of %d sections cannot have one more", index)
	}
	for _, sym := range externs {
		sym[4] = elf.ST_INFO(elf.STB_GLOBAL, elf.STT_OBJECT)
		sym[5] = byte(elf.STV_HIDDEN) // not a variable of the object's author
		order.PutUint16(sym[6:], uint16(index))
		order.PutUint64(sym[8:], 0)
		order.PutUint64(sym[16:], 1)
	}
	out := o.bytes
	add := func(b []byte) uint64 {
		for len(out)%8 != 0 {
			out = append(out, 0)
		}
		off := len(out)
		out = append(out, b...)
		return uint64(off)
	}
	// The section of names may hold the symbols' names as well, whose offsets
	// stay.
	names := &o.sections[o.header.Shstrndx]
	name := len(o.names)
	grown := slices.Concat(o.names, []byte(AnswerSection), []byte{0})
	names.Off, names.Size = add(grown), uint64(len(grown))
	o.sections = append(o.sections, elf.Section64{
		Name: uint32(name), Type: uint32(elf.SHT_PROGBITS), Flags: uint64(elf.SHF_ALLOC),
		Off: add(order.AppendUint64(nil, 1)), Size: 8, Addralign: 8,
	})
	table, err := binary.Append(nil, order, o.sections)
	if err != nil {
		return nil, err
	}
	o.header.Shoff, o.header.Shnum = add(table), uint16(len(o.sections))
	_, err = binary.Encode(out, order, &o.header)
	return out, err
}
