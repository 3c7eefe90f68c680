package elfgen

// hashBuckets returns the number of chains for a table of n symbols.
func hashBuckets(n uint64) uint64 { return n/2 | 1 }

// hashEntrySize returns the size in bytes of a number in .hash: 4 in the gABI,
// but 8 in the processor supplements of Alpha and of 64-bit S/390.
func (o *Object) hashEntrySize() uint64 {
	if o.Class == ELFCLASS64 && (o.Machine == EM_S390 || o.Machine == EM_ALPHA || o.Machine == EM_ALPHA_STD) {
		return 8
	}
	return 4
}

// hashTable is .hash as an array of numbers.
type hashTable struct {
	encoding
	entries []byte
	size    uint64 // of an entry
}

func (t hashTable) get(i uint64) uint32 {
	if t.size == 8 {
		return uint32(t.get64(t.entries[8*i:]))
	}
	return t.get32(t.entries[4*i:])
}

func (t hashTable) put(i uint64, v uint32) {
	if t.size == 8 {
		t.put64(t.entries[8*i:], uint64(v))
	} else {
		t.put32(t.entries[4*i:], v)
	}
}

// writeSymbols writes .dynsym, .dynstr and .hash.
func (im *Image) writeSymbols() {
	o, m := im.obj, &im.made
	syms := writer{im.enc, im.Contents(m.dynsym)[im.enc.symSize():]}
	strs := im.Contents(m.dynstr)
	str := 1
	if o.Soname != "" {
		str += copy(strs[str:], o.Soname) + 1
	}
	n := uint64(len(o.Symbols)) + 1
	nbucket := hashBuckets(n)
	table := hashTable{im.enc, im.Contents(m.hash), o.hashEntrySize()}
	table.put(0, uint32(nbucket))
	table.put(1, uint32(n))
	buckets, chains := uint64(2), 2+nbucket

	for i := range o.Symbols {
		s := &o.Symbols[i]
		im.writeSymbol(&syms, s, uint32(str))
		str += copy(strs[str:], s.Name) + 1

		// The newest symbol of a bucket comes first and points to the others.
		b := buckets + uint64(sysvHash(s.Name))%nbucket
		table.put(chains+uint64(i+1), table.get(b))
		table.put(b, uint32(i+1))
	}
}

func (im *Image) writeSymbol(w *writer, s *Symbol, name uint32) {
	info := stbGlobal<<4 | uint8(s.Type)
	value := s.Section.Addr + s.Offset
	w.u32(name)
	if w.is64 {
		w.u8(info)
		w.u8(stvDefault)
		w.u16(uint16(s.Section.index))
		w.u64(value)
		w.u64(s.Size)
		return
	}
	w.u32(uint32(value))
	w.u32(uint32(s.Size))
	w.u8(info)
	w.u8(stvDefault)
	w.u16(uint16(s.Section.index))
}

// sysvHash is the hash function of DT_HASH, gABI chapter 5, "Hash Table".
func sysvHash(name string) uint32 {
	var h uint32
	for i := range len(name) {
		h = h<<4 + uint32(name[i])
		g := h & 0xf0000000
		h ^= g >> 24
		h &^= g
	}
	return h
}
