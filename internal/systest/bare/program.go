package bare

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
)

// Where a program has what.
const (
	CodeAt   = 0x400000
	SlotSize = 64         // of each piece of code
	DataAt   = 0x10000000 // memory that can be written
	DataSize = 0x3000
	header   = 0x1000 // bytes of the file before the code
)

// Breakpoint fills what of the code is not a piece: x86's int3.
const Breakpoint = 0xcc

// Pads is the number of bytes of breakpoints before the first piece, to which code may
// jump; the program begins there.
const Pads = 0x2000

// Program returns an executable with pieces of code in slots, each a function, which
// Name names, and breakpoints all around them.
func Program(pieces [][]byte) []byte {
	code := bytes.Repeat([]byte{Breakpoint}, Pads+len(pieces)*SlotSize+SlotSize)
	var syms, names bytes.Buffer
	names.WriteByte(0)
	write := func(b *bytes.Buffer, v any) { _ = binary.Write(b, binary.LittleEndian, v) }
	write(&syms, elf.Sym64{})
	for i, p := range pieces {
		copy(code[Pads+i*SlotSize:], p)
		write(&syms, elf.Sym64{
			Name: uint32(names.Len()), Info: byte(elf.STB_GLOBAL)<<4 | byte(elf.STT_FUNC), Shndx: 1,
			Value: At(i), Size: uint64(len(p)),
		})
		names.WriteString(Name(i) + "\x00")
	}
	sections := "\x00.text\x00.symtab\x00.strtab\x00.shstrtab\x00"
	at := func(name string) uint32 { return uint32(bytes.Index([]byte(sections), []byte(name+"\x00"))) }
	symsAt := uint64(header + len(code))
	namesAt := symsAt + uint64(syms.Len())
	sectionsAt := namesAt + uint64(names.Len())
	headersAt := (sectionsAt + uint64(len(sections)) + 7) &^ 7
	var out bytes.Buffer
	write(&out, elf.Header64{
		Ident: [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
		Type:  uint16(elf.ET_EXEC), Machine: uint16(elf.EM_X86_64), Version: uint32(elf.EV_CURRENT), Entry: CodeAt,
		Phoff: 64, Shoff: headersAt, Ehsize: 64, Phentsize: 56, Phnum: 2, Shentsize: 64, Shnum: 5, Shstrndx: 4,
	})
	write(&out, elf.Prog64{Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_X), Off: header, Vaddr: CodeAt, Filesz: uint64(len(code)), Memsz: uint64(len(code)), Align: 0x1000})
	write(&out, elf.Prog64{Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_W), Vaddr: DataAt, Memsz: DataSize, Align: 0x1000})
	out.Write(make([]byte, header-out.Len()))
	out.Write(code)
	out.Write(syms.Bytes())
	out.Write(names.Bytes())
	out.WriteString(sections)
	out.Write(make([]byte, headersAt-uint64(out.Len())))
	write(&out, elf.Section64{})
	write(&out, elf.Section64{Name: at(".text"), Type: uint32(elf.SHT_PROGBITS), Flags: uint64(elf.SHF_ALLOC | elf.SHF_EXECINSTR), Addr: CodeAt, Off: header, Size: uint64(len(code)), Addralign: 16})
	write(&out, elf.Section64{Name: at(".symtab"), Type: uint32(elf.SHT_SYMTAB), Off: symsAt, Size: uint64(syms.Len()), Link: 3, Info: 1, Addralign: 8, Entsize: elf.Sym64Size})
	write(&out, elf.Section64{Name: at(".strtab"), Type: uint32(elf.SHT_STRTAB), Off: namesAt, Size: uint64(names.Len()), Addralign: 1})
	write(&out, elf.Section64{Name: at(".shstrtab"), Type: uint32(elf.SHT_STRTAB), Off: sectionsAt, Size: uint64(len(sections)), Addralign: 1})
	return out.Bytes()
}

// At returns the address of piece i.
func At(i int) uint64 { return CodeAt + Pads + uint64(i)*SlotSize }

// Name returns the symbol of piece i.
func Name(i int) string { return fmt.Sprintf("piece_%d", i) }
