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
