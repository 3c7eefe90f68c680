package elfgen

// writeHeaders writes the ELF header, the program headers, the section
// headers and the section names.
func (im *Image) writeHeaders() {
	e := im.enc
	shoff := uint64(len(im.buf)) - e.sectionSize()*uint64(len(im.sections)+1)
	im.writeHeader(shoff)
	im.writeProgs()
	im.writeSections(shoff)
}

func (im *Image) writeHeader(shoff uint64) {
	o, e := im.obj, im.enc
	w := writer{e, im.buf}
	w.bytes([]byte(elfMagic))
	w.u8(uint8(o.Class))
	w.u8(uint8(o.Data))
	w.u8(evCurrent)
	w.u8(osABINone)
	w.bytes(make([]byte, 8)) // ABI version and padding
	w.u16(etDyn)
	w.u16(uint16(o.Machine))
	w.u32(evCurrent)
	w.word(0) // e_entry
	w.word(e.headerSize())
	w.word(shoff)
	w.u32(o.Flags)
	w.u16(uint16(e.headerSize()))
	w.u16(uint16(e.progSize()))
	w.u16(uint16(im.progCount()))
	w.u16(uint16(e.sectionSize()))
	w.u16(uint16(len(im.sections) + 1))
	w.u16(uint16(im.made.shstrtab.index))
}

func (im *Image) writeProgs() {
	e := im.enc
	w := writer{e, im.buf[e.headerSize():]}
	prog := func(t uint32, f ProgFlag, off, size, align uint64) {
		w.u32(t)
		if e.is64 {
			w.u32(uint32(f))
		}
		w.word(off)
		w.word(off) // p_vaddr
		w.word(off) // p_paddr
		w.word(size)
		w.word(size)
		if !e.is64 {
			w.u32(uint32(f))
		}
		w.word(align)
	}
	for _, s := range im.segments {
		prog(ptLoad, s.Flags, s.Offset, s.Size, im.obj.pageSize())
	}
	dyn, id := im.made.dynamic, im.made.buildID
	prog(ptDynamic, PF_R|PF_W, dyn.Offset, dyn.Size, dyn.Align)
	prog(ptNote, PF_R, id.Offset, id.Size, id.Align)
	prog(ptGNUStack, PF_R|PF_W, 0, 0, 16)
}

func (im *Image) writeSections(shoff uint64) {
	m := &im.made
	w := writer{im.enc, im.buf[shoff+im.enc.sectionSize():]} // the first section header is all zero
	names := im.Contents(m.shstrtab)
	name := 1
	for _, s := range im.sections {
		var link, info uint32
		switch s {
		case m.hash:
			link = m.dynsym.index
		case m.dynsym:
			link, info = m.dynstr.index, 1 // one local symbol, the null symbol
		case m.dynamic:
			link = m.dynstr.index
		}
		w.u32(uint32(name))
		w.u32(uint32(s.Type))
		w.word(uint64(s.Flags))
		w.word(s.Addr)
		w.word(s.Offset)
		w.word(s.Size)
		w.u32(link)
		w.u32(info)
		w.word(s.align())
		w.word(s.Entsize)
		name += copy(names[name:], s.Name) + 1
	}
}
