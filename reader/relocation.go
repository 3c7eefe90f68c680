package reader

import "debug/elf"

// pointer returns the address of size bytes that the file has at addr, or that the
// dynamic linker stores there, or 0 if there is none.
func (f *File) pointer(addr, size uint64) uint64 {
	s := find(f.layout.loads, addr)
	if s == nil || s.Filesz < size || addr-s.Vaddr > s.Filesz-size {
		return 0
	}
	var b [8]byte
	if n, err := f.elf.ReadAt(b[:size], int64(s.Off+(addr-s.Vaddr))); n < int(size) && err != nil {
		return 0
	}
	if size == 4 {
		return uint64(f.elf.ByteOrder.Uint32(b[:]))
	}
	if v := f.elf.ByteOrder.Uint64(b[:]); v != 0 {
		return v
	}
	return f.addend(addr)
}

// maxRelocationTables is the largest number of tables that are read; linkers write
// two.
const maxRelocationTables = 8

// addend returns the address, relative to the file's, that a relocation of the file
// stores at addr.
func (f *File) addend(addr uint64) uint64 {
	const size = 24 // sizeof(Elf64_Rela)
	tables := 0
	for i := range f.elf.Sections {
		s := &f.elf.Sections[i]
		if s.Type != elf.SHT_RELA || s.Flags&elf.SHF_ALLOC == 0 {
			continue
		}
		if tables++; tables > maxRelocationTables {
			break
		}
		data, err := f.elf.Data(s, maxRelocations)
		if err != nil {
			continue
		}
		for ; len(data) >= size; data = data[size:] {
			if f.elf.ByteOrder.Uint64(data) == addr {
				return f.elf.ByteOrder.Uint64(data[16:])
			}
		}
	}
	return 0
}
