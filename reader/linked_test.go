package reader_test

import (
	"bytes"
	"compress/zlib"
	"debug/elf"
	"encoding/binary"
	"fmt"

	"github.com/go-usdt/usdt/notes"
)

// section is a section of a file that no linker writes.
type section struct {
	elf.Section64
	name string
	data []byte // nil if Off and Size are those of another section
}

// linked returns a 64-bit x86 file of these sections, one behind the other. The first
// is number 1 and lies at sectionStart. All of the file is code.
func linked(sections ...section) []byte {
	var b bytes.Buffer
	b.Write(make([]byte, sectionStart))
	names := []byte{0}
	for i := range sections {
		s := &sections[i]
		if s.data != nil {
			b.Write(make([]byte, -b.Len()&7))
			s.Off, s.Size = uint64(b.Len()), uint64(len(s.data))
			b.Write(s.data)
		}
		if n := bytes.Index(names, append([]byte(s.name), 0)); n >= 0 {
			s.Name = uint32(n)
		} else {
			s.Name = uint32(len(names))
			names = append(append(names, s.name...), 0)
		}
	}
	off := uint64(b.Len())
	b.Write(names)
	b.Write(make([]byte, -b.Len()&7))
	shoff := uint64(b.Len())
	n := uint64(len(sections)) + 2
	put := func(v any) { binary.Write(&b, binary.LittleEndian, v) }
	put(elf.Section64{Size: n, Link: uint32(n - 1)})
	for _, s := range sections {
		put(s.Section64)
	}
	put(elf.Section64{Type: uint32(elf.SHT_STRTAB), Off: off, Size: uint64(len(names))})
	out := b.Bytes()
	binary.Encode(out, binary.LittleEndian, elf.Header64{
		Ident: [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
		Type:  uint16(elf.ET_DYN), Machine: uint16(elf.EM_X86_64), Version: 1, Entry: 0x1000,
		Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: 1, Shoff: shoff, Shentsize: 64, Shnum: 0, Shstrndx: uint16(elf.SHN_XINDEX),
	})
	size := uint64(len(out))
	binary.Encode(out[64:], binary.LittleEndian, elf.Prog64{Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_X), Filesz: size, Memsz: size, Align: 4096})
	return out
}

const sectionStart = 64 + 56

// times returns n copies of s.
func times(n int, s section) []section {
	out := make([]section, n)
	for i := range out {
		out[i] = s
	}
	return out
}

// zlibbed returns the contents of a section that holds data compressed.
func zlibbed(data []byte) []byte {
	var b bytes.Buffer
	binary.Write(&b, binary.LittleEndian, elf.Chdr64{Type: uint32(elf.COMPRESS_ZLIB), Size: uint64(len(data)), Addralign: 1})
	w := zlib.NewWriter(&b)
	w.Write(data)
	w.Close()
	return b.Bytes()
}

// someNotes returns n notes with different names.
func someNotes(n int, args string) []byte {
	var b []byte
	for i := range n {
		b = notes.Note{Provider: "p", Name: fmt.Sprint("n", i), Location: 0x40, Args: args}.Append(b, binary.LittleEndian, notes.ELFCLASS64)
	}
	return b
}

// symbols returns a table of n symbols, which symbol makes.
func symbols(n int, symbol func(i int) elf.Sym64) []byte {
	var b bytes.Buffer
	for i := range n {
		binary.Write(&b, binary.LittleEndian, symbol(i))
	}
	return b.Bytes()
}

const (
	function = uint8(elf.STT_FUNC) | uint8(elf.STB_GLOBAL)<<4
	symtab   = uint32(elf.SHT_SYMTAB)
	dynsym   = uint32(elf.SHT_DYNSYM)
	rela     = uint32(elf.SHT_RELA)
	progbits = uint32(elf.SHT_PROGBITS)
	note     = uint32(elf.SHT_NOTE)
	packed   = uint64(elf.SHF_COMPRESSED)
	stapsdt  = notes.SectionName
)
