package bare

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
)

// Where a program has what; corpus.c has the same numbers.
const (
	CodeAt   = 0x1000000
	SlotSize = 64         // of each piece of code
	DataAt   = 0x10000000 // memory that can be written
	DataSize = 0x2000
	header   = 0x1000 // bytes of the file before the code
)

// Pads is the number of bytes of breakpoints before the first piece, to which code may
// jump.
const Pads = 0x2000

func codeSize(n int) uint64 { return uint64(Pads + n*SlotSize + SlotSize) }

// Program returns an object with pieces of code in slots, each a function, which
// Name names, and breakpoints all around them.
func (m *Machine) Program(pieces [][]byte) []byte {
	code := bytes.Repeat(m.Breakpoint, int(codeSize(len(pieces)))/len(m.Breakpoint))
	var syms, names, out bytes.Buffer
	write := func(b *bytes.Buffer, v ...any) {
		for _, v := range v {
			_ = binary.Write(b, binary.LittleEndian, v)
		}
	}
	is64 := m.Class == elf.ELFCLASS64
	word := func(v uint64) any {
		if is64 {
			return v
		}
		return uint32(v)
	}
	names.WriteByte(0)
	headerSize, progSize, sectionSize, symSize := 52, 32, 40, elf.Sym32Size
	if is64 {
		headerSize, progSize, sectionSize, symSize = 64, 56, 64, elf.Sym64Size
	}
	syms.Write(make([]byte, symSize))
	for i, p := range pieces {
		copy(code[Pads+i*SlotSize:], p)
		name, info := uint32(names.Len()), byte(elf.STB_GLOBAL)<<4|byte(elf.STT_FUNC)
		if is64 {
			write(&syms, elf.Sym64{Name: name, Info: info, Shndx: 1, Value: At(i), Size: uint64(len(p))})
		} else {
			write(&syms, elf.Sym32{Name: name, Info: info, Shndx: 1, Value: uint32(At(i)), Size: uint32(len(p))})
		}
		names.WriteString(Name(i) + "\x00")
	}
	sections := "\x00.text\x00.symtab\x00.strtab\x00.shstrtab\x00"
	symsAt := uint64(header + len(code))
	namesAt := symsAt + uint64(syms.Len())
	sectionsAt := namesAt + uint64(names.Len())
	headersAt := (sectionsAt + uint64(len(sections)) + 7) &^ 7
	write(&out, [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(m.Class), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
		uint16(elf.ET_EXEC), uint16(m.Machine), uint32(elf.EV_CURRENT), word(CodeAt), word(uint64(headerSize)), word(headersAt), uint32(0),
		uint16(headerSize), uint16(progSize), uint16(1), uint16(sectionSize), uint16(5), uint16(4))
	size := uint64(len(code))
	if is64 {
		write(&out, elf.Prog64{Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_X), Off: header, Vaddr: CodeAt, Filesz: size, Memsz: size, Align: 0x1000})
	} else {
		write(&out, elf.Prog32{Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_X), Off: header, Vaddr: CodeAt, Filesz: uint32(size), Memsz: uint32(size), Align: 0x1000})
	}
	out.Write(make([]byte, header-out.Len()))
	out.Write(code)
	out.Write(syms.Bytes())
	out.Write(names.Bytes())
	out.WriteString(sections)
	out.Write(make([]byte, headersAt-uint64(out.Len())))
	out.Write(make([]byte, sectionSize))
	section := func(name string, kind elf.SectionType, flags elf.SectionFlag, addr, off, size uint64, link, info uint32, align, entry int) {
		at := bytes.Index([]byte(sections), []byte(name+"\x00"))
		write(&out, uint32(at), uint32(kind), word(uint64(flags)), word(addr), word(off), word(size), link, info, word(uint64(align)), word(uint64(entry)))
	}
	section(".text", elf.SHT_PROGBITS, elf.SHF_ALLOC|elf.SHF_EXECINSTR, CodeAt, header, size, 0, 0, 16, 0)
	section(".symtab", elf.SHT_SYMTAB, 0, 0, symsAt, uint64(syms.Len()), 3, 1, 8, symSize)
	section(".strtab", elf.SHT_STRTAB, 0, 0, namesAt, uint64(names.Len()), 0, 0, 1, 0)
	section(".shstrtab", elf.SHT_STRTAB, 0, 0, sectionsAt, uint64(len(sections)), 0, 0, 1, 0)
	return out.Bytes()
}

// At returns the address of piece i.
func At(i int) uint64 { return CodeAt + Pads + uint64(i)*SlotSize }

// Name returns the symbol of piece i.
func Name(i int) string { return fmt.Sprintf("piece_%d", i) }
