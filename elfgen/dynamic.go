package elfgen

import "debug/elf"

// dynamicSize returns the size of .dynamic: five entries, DT_NULL and, with a
// name, DT_SONAME.
func (im *Image) dynamicSize() uint64 {
	n := uint64(6)
	if im.obj.Soname != "" {
		n++
	}
	return n * 2 * uint64(im.enc.wordSize())
}

func (im *Image) writeDynamic() {
	m := &im.made
	w := writer{im.enc, im.Contents(m.dynamic)}
	entry := func(tag elf.DynTag, v uint64) {
		w.word(uint64(tag))
		w.word(v)
	}
	if im.obj.Soname != "" {
		entry(elf.DT_SONAME, 1) // the first string of .dynstr
	}
	entry(elf.DT_HASH, m.hash.Addr)
	entry(elf.DT_STRTAB, m.dynstr.Addr)
	entry(elf.DT_SYMTAB, m.dynsym.Addr)
	entry(elf.DT_STRSZ, m.dynstr.Size)
	entry(elf.DT_SYMENT, m.dynsym.Entsize)
	entry(elf.DT_NULL, 0)
}
