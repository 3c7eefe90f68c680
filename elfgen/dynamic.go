package elfgen

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
	entry := func(tag, v uint64) {
		w.word(tag)
		w.word(v)
	}
	if im.obj.Soname != "" {
		entry(dtSoname, 1) // the first string of .dynstr
	}
	entry(dtHash, m.hash.Addr)
	entry(dtStrTab, m.dynstr.Addr)
	entry(dtSymTab, m.dynsym.Addr)
	entry(dtStrSz, m.dynstr.Size)
	entry(dtSymEnt, m.dynsym.Entsize)
	entry(dtNull, 0)
}
