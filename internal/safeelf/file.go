package safeelf

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// Limits on tables, larger than any that a real file needs.
const (
	// maxProgs is the largest size in bytes of the program headers: binfmt_elf's
	// load_elf_phdrs refuses more.
	maxProgs = 64 << 10
	// maxSections is the largest number of sections, far above what linkers write
	// into executables and libraries.
	maxSections = 1 << 18
	// maxNames is the largest size in bytes of all section names.
	maxNames = 16 << 20
	// maxName is the largest length in bytes of a section name; a section with a
	// longer one has no name here.
	maxName = 255
)

// ErrNotELF is wrapped by the error for a file of another format.
var ErrNotELF = errors.New("not an ELF file")

// File is an ELF file whose headers have been read.
type File struct {
	Class     elf.Class
	ByteOrder binary.ByteOrder
	Type      elf.Type
	Machine   elf.Machine
	Entry     uint64
	Progs     []elf.ProgHeader
	Sections  []elf.SectionHeader // Size and FileSize are both the size in the file

	r      io.ReaderAt
	budget *budget
}

// NewFile reads the headers of the ELF file in r.
func NewFile(r io.ReaderAt) (*File, error) { return newFile(r, newBudget(sizeOf(r))) }

// Inner reads the headers of an ELF file that f contains, at the expense of f's
// budget.
func (f *File) Inner(r io.ReaderAt) (*File, error) { return newFile(r, f.budget) }

func newFile(r io.ReaderAt, budget *budget) (*File, error) {
	var head [64]byte // sizeof(Elf64_Ehdr)
	n, err := r.ReadAt(head[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read ELF header: %w", err)
	}
	if err := checkMagic(head[:n]); err != nil {
		return nil, err
	}
	f := &File{r: r, budget: budget, Class: elf.Class(head[elf.EI_CLASS])}
	switch elf.Data(head[elf.EI_DATA]) {
	case elf.ELFDATA2LSB:
		f.ByteOrder = binary.LittleEndian
	case elf.ELFDATA2MSB:
		f.ByteOrder = binary.BigEndian
	default:
		return nil, fmt.Errorf("ELF header has unknown byte order %d", head[elf.EI_DATA])
	}
	size := 64
	switch f.Class {
	case elf.ELFCLASS64:
	case elf.ELFCLASS32:
		size = 52
	default:
		return nil, fmt.Errorf("ELF header has unknown class %d", head[elf.EI_CLASS])
	}
	if n < size {
		return nil, fmt.Errorf("ELF header needs %d bytes, the file has %d: %w", size, n, io.ErrUnexpectedEOF)
	}
	h := f.header(head[:size])
	if err := f.readSections(&h); err != nil {
		return nil, err
	}
	if err := f.readProgs(h); err != nil {
		return nil, err
	}
	return f, nil
}

func checkMagic(head []byte) error {
	switch {
	case len(head) == 0:
		return fmt.Errorf("%w: it is empty", ErrNotELF)
	case bytes.HasPrefix(head, []byte("!<arch>\n")), bytes.HasPrefix(head, []byte("!<thin>\n")):
		return fmt.Errorf("%w but a static archive: its members have probes only once they are linked", ErrNotELF)
	case !bytes.HasPrefix(head, []byte(elf.ELFMAG)):
		return ErrNotELF
	case len(head) < elf.EI_NIDENT:
		return fmt.Errorf("ELF header: %w", io.ErrUnexpectedEOF)
	}
	return nil
}

// header is what Elf32_Ehdr and Elf64_Ehdr say about the tables.
type header struct {
	phoff, shoff     uint64
	phentsize, phnum uint64
	shentsize, shnum uint64
	shstrndx         uint64
}

func (f *File) header(b []byte) header {
	bo := f.ByteOrder
	f.Type, f.Machine = elf.Type(bo.Uint16(b[16:])), elf.Machine(bo.Uint16(b[18:]))
	var h header
	var rest []byte // from e_phentsize on
	if f.Class == elf.ELFCLASS32 {
		f.Entry = uint64(bo.Uint32(b[24:]))
		h.phoff, h.shoff = uint64(bo.Uint32(b[28:])), uint64(bo.Uint32(b[32:]))
		rest = b[42:]
	} else {
		f.Entry = bo.Uint64(b[24:])
		h.phoff, h.shoff = bo.Uint64(b[32:]), bo.Uint64(b[40:])
		rest = b[54:]
	}
	for i, dst := range []*uint64{&h.phentsize, &h.phnum, &h.shentsize, &h.shnum, &h.shstrndx} {
		*dst = uint64(bo.Uint16(rest[2*i:]))
	}
	return h
}

// readSections reads the section headers. Counts that do not fit into the ELF header
// are in the first section header; readSections copies them to h.
func (f *File) readSections(h *header) error {
	if h.shoff == 0 {
		h.shnum = 0
		return nil
	}
	want := uint64(64) // sizeof(Elf64_Shdr)
	if f.Class == elf.ELFCLASS32 {
		want = 40
	}
	if h.shentsize != want {
		return fmt.Errorf("ELF header says that a section header has %d bytes, not %d", h.shentsize, want)
	}
	first, err := f.read(h.shoff, want)
	if err != nil {
		return fmt.Errorf("read section headers: %w", err)
	}
	s0, _ := f.section(first)
	if h.shnum == 0 {
		h.shnum = s0.Size
	}
	if h.shstrndx == uint64(elf.SHN_XINDEX) {
		h.shstrndx = uint64(s0.Link)
	}
	if h.phnum == 0xffff { // PN_XNUM
		h.phnum = uint64(s0.Info)
	}
	if h.shnum > maxSections {
		return fmt.Errorf("ELF header names %d sections, more than the %d that are read", h.shnum, maxSections)
	}
	table, err := f.read(h.shoff, h.shnum*h.shentsize)
	if err == nil {
		err = f.Spend(h.shnum * costSection)
	}
	if err != nil {
		return fmt.Errorf("read %d section headers: %w", h.shnum, err)
	}
	f.Sections = make([]elf.SectionHeader, h.shnum)
	nameOff := make([]uint32, h.shnum)
	for i := range f.Sections {
		f.Sections[i], nameOff[i] = f.section(table[uint64(i)*h.shentsize:])
	}
	return f.nameSections(h.shstrndx, nameOff)
}

func (f *File) nameSections(shstrndx uint64, nameOff []uint32) error {
	if shstrndx >= uint64(len(f.Sections)) {
		return nil // sections without names
	}
	tab := &f.Sections[shstrndx]
	if tab.Type != elf.SHT_STRTAB || tab.FileSize > maxNames {
		return fmt.Errorf("section names: section %d is no string table below %d bytes", shstrndx, maxNames)
	}
	names, err := f.read(tab.Offset, tab.FileSize)
	if err == nil {
		err = f.Spend(costRead * tab.FileSize)
	}
	if err != nil {
		return fmt.Errorf("read section names: %w", err)
	}
	all := string(names)
	for i, off := range nameOff {
		if uint64(off) < uint64(len(all)) {
			rest := names[off:min(uint64(off)+maxName+1, uint64(len(names)))]
			if n := bytes.IndexByte(rest, 0); n > 0 {
				f.Sections[i].Name = all[off : int(off)+n]
			}
		}
	}
	return nil
}

// section decodes an Elf32_Shdr or Elf64_Shdr and returns it with sh_name.
func (f *File) section(b []byte) (elf.SectionHeader, uint32) {
	bo := f.ByteOrder
	s := elf.SectionHeader{Type: elf.SectionType(bo.Uint32(b[4:]))}
	if f.Class == elf.ELFCLASS32 {
		s.Flags = elf.SectionFlag(bo.Uint32(b[8:]))
		s.Addr, s.Offset, s.Size = uint64(bo.Uint32(b[12:])), uint64(bo.Uint32(b[16:])), uint64(bo.Uint32(b[20:]))
		s.Link, s.Info = bo.Uint32(b[24:]), bo.Uint32(b[28:])
		s.Addralign, s.Entsize = uint64(bo.Uint32(b[32:])), uint64(bo.Uint32(b[36:]))
	} else {
		s.Flags = elf.SectionFlag(bo.Uint64(b[8:]))
		s.Addr, s.Offset, s.Size = bo.Uint64(b[16:]), bo.Uint64(b[24:]), bo.Uint64(b[32:])
		s.Link, s.Info = bo.Uint32(b[40:]), bo.Uint32(b[44:])
		s.Addralign, s.Entsize = bo.Uint64(b[48:]), bo.Uint64(b[56:])
	}
	s.FileSize = s.Size
	return s, bo.Uint32(b)
}

func (f *File) readProgs(h header) error {
	if h.phoff == 0 || h.phnum == 0 {
		return nil
	}
	want := uint64(56) // sizeof(Elf64_Phdr)
	if f.Class == elf.ELFCLASS32 {
		want = 32
	}
	if h.phentsize != want {
		return fmt.Errorf("ELF header says that a program header has %d bytes, not %d", h.phentsize, want)
	}
	size := h.phnum * h.phentsize
	if size > maxProgs {
		return fmt.Errorf("%d program headers, more than the kernel loads", h.phnum)
	}
	table, err := f.read(h.phoff, size)
	if err == nil {
		err = f.Spend(h.phnum * costProgram)
	}
	if err != nil {
		return fmt.Errorf("read %d program headers: %w", h.phnum, err)
	}
	f.Progs = make([]elf.ProgHeader, h.phnum)
	for i := range f.Progs {
		f.Progs[i] = f.prog(table[uint64(i)*h.phentsize:])
	}
	return nil
}

// prog decodes an Elf32_Phdr or Elf64_Phdr.
func (f *File) prog(b []byte) elf.ProgHeader {
	bo := f.ByteOrder
	p := elf.ProgHeader{Type: elf.ProgType(bo.Uint32(b))}
	if f.Class == elf.ELFCLASS32 {
		p.Off, p.Vaddr, p.Paddr = uint64(bo.Uint32(b[4:])), uint64(bo.Uint32(b[8:])), uint64(bo.Uint32(b[12:]))
		p.Filesz, p.Memsz = uint64(bo.Uint32(b[16:])), uint64(bo.Uint32(b[20:]))
		p.Flags, p.Align = elf.ProgFlag(bo.Uint32(b[24:])), uint64(bo.Uint32(b[28:]))
		return p
	}
	p.Flags = elf.ProgFlag(bo.Uint32(b[4:]))
	p.Off, p.Vaddr, p.Paddr = bo.Uint64(b[8:]), bo.Uint64(b[16:]), bo.Uint64(b[24:])
	p.Filesz, p.Memsz, p.Align = bo.Uint64(b[32:]), bo.Uint64(b[40:]), bo.Uint64(b[48:])
	return p
}

// trusted is the largest size that is allocated without a check that the file has it.
const trusted = 64 << 10

// read reads size bytes at off.
func (f *File) read(off, size uint64) ([]byte, error) {
	if size == 0 {
		return nil, nil
	}
	if off > math.MaxInt64 || size > trusted {
		if err := f.has(off, size); err != nil {
			return nil, err
		}
	}
	buf := make([]byte, size)
	if n, err := f.r.ReadAt(buf, int64(off)); uint64(n) < size {
		return nil, fmt.Errorf("%d bytes at offset %#x: %w", size, off, truncated(err))
	}
	return buf, nil
}

// has returns an error if the file does not have size bytes at off.
func (f *File) has(off, size uint64) error {
	if size == 0 {
		return nil
	}
	if off > math.MaxInt64 || size > math.MaxInt64-off {
		return fmt.Errorf("%d bytes at offset %#x: %w", size, off, io.ErrUnexpectedEOF)
	}
	var last [1]byte
	if n, err := f.r.ReadAt(last[:], int64(off+size-1)); n == 0 {
		return fmt.Errorf("%d bytes at offset %#x: %w", size, off, truncated(err))
	}
	return nil
}

// truncated turns the end of the file into an error that reports an early end.
func truncated(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
