package reader

import (
	"debug/elf"
	"slices"
)

// maxRelocations is the number of bytes that are read of a section of relocations,
// maxSlots the number of slots that are remembered, at most.
const (
	maxRelocations = 64 << 20
	maxSlots       = 1 << 18
)

// Slot returns the address in the file of the global offset table's slot that the
// dynamic linker fills with the symbol's address. ok is false if there is none. The
// slot holds the address of the definition that the process uses, whichever object
// has it.
func (f *File) Slot(symbol string) (addr uint64, ok bool) {
	addr, ok = f.slots()[symbol]
	return addr, ok
}

// readSlots reads R_X86_64_GLOB_DAT and R_386_GLOB_DAT relocations.
func (f *File) readSlots() map[string]uint64 {
	const globDat = 6 // of both
	size, relSize := 24, 24
	wide := f.elf.Class == elf.ELFCLASS64
	switch {
	case f.elf.Machine == elf.EM_386 && !wide:
		size, relSize = 16, 8
	case f.elf.Machine != elf.EM_X86_64 || !wide:
		return nil
	}
	i := slices.IndexFunc(f.elf.Sections, func(s elf.SectionHeader) bool { return s.Type == elf.SHT_DYNSYM })
	if i < 0 || uint64(f.elf.Sections[i].Link) >= uint64(len(f.elf.Sections)) {
		return nil
	}
	symbols, err := f.elf.Data(&f.elf.Sections[i], maxSymbols)
	if err != nil {
		return nil
	}
	names, err := f.elf.Data(&f.elf.Sections[f.elf.Sections[i].Link], maxSymbols)
	if err != nil {
		return nil
	}
	table := symtab{strings: names}
	slots := map[string]uint64{}
	for j := range f.elf.Sections {
		s := &f.elf.Sections[j]
		if int(s.Link) != i || s.Type != elf.SHT_RELA && s.Type != elf.SHT_REL {
			continue
		}
		if f.elf.Spend(costRelocation*(s.FileSize/uint64(relSize))) != nil {
			break
		}
		data, err := f.elf.Data(s, maxRelocations)
		if err != nil {
			continue
		}
		for ; len(data) >= relSize; data = data[relSize:] {
			var at, index uint64
			var typ uint32
			if wide {
				info := f.elf.ByteOrder.Uint64(data[8:])
				at, index, typ = f.elf.ByteOrder.Uint64(data), info>>32, uint32(info)
			} else {
				info := f.elf.ByteOrder.Uint32(data[4:])
				at, index, typ = uint64(f.elf.ByteOrder.Uint32(data)), uint64(info>>8), info&0xff
			}
			if typ != globDat || index >= uint64(len(symbols)/size) {
				continue
			}
			name := table.namePrefix(&symbol{name: f.elf.ByteOrder.Uint32(symbols[index*uint64(size):])}, maxHashed)
			if len(name) > 0 && len(name) < maxHashed && len(slots) < maxSlots {
				slots[string(name)] = at
			}
		}
	}
	return slots
}

// maxGOT is the largest number of bytes that are read of a global offset table.
const maxGOT = 1 << 20

// OwnSlot returns a slot of the global offset table, by its address in the file. In
// a process, the slot holds the address of the variable that lies at addr in this
// object. Compilers take addresses from such slots, also the addresses of the program's own
// variables, unless the linker omits the slot.
func (f *File) OwnSlot(addr uint64) (slot uint64, ok bool) {
	slot, ok = f.own()[addr]
	return slot, ok
}

// readOwnSlots returns the slots that the dynamic linker moves with the object,
// R_X86_64_RELATIVE or R_386_RELATIVE, by their contents before that. If these
// relocations are packed (RELR), or nothing is moved at all, it takes all slots that
// hold an address. These belong to this object, since imported ones are empty.
func (f *File) readOwnSlots() map[uint64]uint64 {
	const relative = 8 // of both
	wide := f.elf.Class == elf.ELFCLASS64
	got := f.elf.Section(".got")
	if got == nil || !(f.elf.Machine == elf.EM_X86_64 && wide) && !(f.elf.Machine == elf.EM_386 && !wide) {
		return nil
	}
	table, err := f.elf.Data(got, maxGOT)
	if err != nil {
		return nil
	}
	word := 4
	if wide {
		word = 8
	}
	number := func(b []byte) uint64 {
		if wide {
			return f.elf.ByteOrder.Uint64(b)
		}
		return uint64(f.elf.ByteOrder.Uint32(b))
	}
	// held returns what the file has in the slot at an address.
	held := func(at uint64) (uint64, bool) {
		in := at - got.Addr
		if at < got.Addr || in > uint64(len(table)) || uint64(len(table))-in < uint64(word) {
			return 0, false
		}
		return number(table[in:]), true
	}
	slots := map[uint64]uint64{}
	packed := slices.ContainsFunc(f.elf.Sections, func(s elf.SectionHeader) bool { return s.Type == shtRelr })
	if packed || f.elf.Type == elf.ET_EXEC {
		for in := 0; len(table)-in >= word; in += word {
			if addr := number(table[in:]); addr != 0 {
				slots[addr] = got.Addr + uint64(in)
			}
		}
	}
	for _, kind := range []struct {
		name string
		size int
	}{{".rela.dyn", 3 * word}, {".rel.dyn", 2 * word}} {
		s := f.elf.Section(kind.name)
		if s == nil {
			continue
		}
		if f.elf.Spend(costRelocation*(s.FileSize/uint64(kind.size))) != nil {
			continue
		}
		data, err := f.elf.Data(s, maxRelocations)
		if err != nil {
			continue
		}
		for ; len(data) >= kind.size; data = data[kind.size:] {
			at, info := number(data), number(data[word:])
			addr, ok := held(at)
			if !ok || info != relative { // a relative relocation has no symbol
				continue
			}
			if kind.size == 3*word {
				addr = number(data[2*word:])
			}
			if len(slots) < maxSlots {
				slots[addr] = at
			}
		}
	}
	return slots
}

// shtRelr is the type of a section of packed relative relocations, SHT_RELR in
// the gABI.
const shtRelr = elf.SectionType(19)
