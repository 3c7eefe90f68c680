package elfgen

import "debug/elf"

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
	w.bytes([]byte(elf.ELFMAG))
	w.u8(uint8(o.Class))
	w.u8(uint8(o.Data))
	w.u8(uint8(elf.EV_CURRENT))
	w.u8(uint8(elf.ELFOSABI_NONE))
	w.bytes(make([]byte, 8)) // ABI version and padding
	w.u16(uint16(elf.ET_DYN))
	w.u16(uint16(o.Machine))
	w.u32(uint32(elf.EV_CURRENT))
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
	prog := func(t elf.ProgType, f elf.ProgFlag, off, size, align uint64) {
		w.u32(uint32(t))
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
		prog(elf.PT_LOAD, s.Flags, s.Offset, s.Size, im.obj.pageSize())
	}
	dyn, id := im.made.dynamic, im.made.buildID
	prog(elf.PT_DYNAMIC, elf.PF_R|elf.PF_W, dyn.Offset, dyn.Size, dyn.Align)
	prog(elf.PT_NOTE, elf.PF_R, id.Offset, id.Size, id.Align)
	prog(elf.PT_GNU_STACK, elf.PF_R|elf.PF_W, 0, 0, 16)
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
