package sdtdump

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"

	"github.com/go-usdt/usdt/notes"
)

// skeleton returns what sdtdump reads of the ELF file at path, as an ELF file: its
// headers, and its sections that concern probes. The skeleton is a hundredth of the
// size, and gives the same output except for symbols and code.
func skeleton(path string) ([]byte, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	f, err := elf.NewFile(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	s := skeletonWriter{f: f}
	ehsize, phsize := 64, 56*len(f.Progs)
	if f.Class == elf.ELFCLASS32 {
		ehsize, phsize = 52, 32*len(f.Progs)
	}
	s.out.Write(raw[:ehsize])
	phoff := f.ByteOrder.Uint64(raw[32:])
	if f.Class == elf.ELFCLASS32 {
		phoff = uint64(f.ByteOrder.Uint32(raw[28:]))
	}
	if phoff+uint64(phsize) > uint64(len(raw)) {
		return nil, fmt.Errorf("%s: program headers: truncated", path)
	}
	s.out.Write(raw[phoff : phoff+uint64(phsize)])
	s.section("", elf.SectionHeader{}, nil)
	for _, name := range []string{notes.SectionName, notes.BaseSectionName, ".note.gnu.build-id"} {
		if section := f.Section(name); section != nil {
			data, err := section.Data()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			s.section(name, section.SectionHeader, data)
		}
	}
	s.section(".shstrtab", elf.SectionHeader{Type: elf.SHT_STRTAB}, append(s.names, ".shstrtab\x00"...))
	return s.finish(uint64(ehsize)), nil
}

type skeletonWriter struct {
	f       *elf.File
	out     bytes.Buffer
	headers bytes.Buffer
	names   []byte
	count   uint16
}

// section appends a section.
func (s *skeletonWriter) section(name string, h elf.SectionHeader, data []byte) {
	for s.out.Len()%8 != 0 {
		s.out.WriteByte(0)
	}
	offset, nameAt := uint64(s.out.Len()), uint32(len(s.names))
	s.names = append(append(s.names, name...), 0)
	if s.f.Class == elf.ELFCLASS32 {
		binary.Write(&s.headers, s.f.ByteOrder, elf.Section32{
			Name: nameAt, Type: uint32(h.Type), Flags: uint32(h.Flags), Addr: uint32(h.Addr),
			Off: uint32(offset), Size: uint32(len(data)), Addralign: uint32(h.Addralign),
		})
	} else {
		binary.Write(&s.headers, s.f.ByteOrder, elf.Section64{
			Name: nameAt, Type: uint32(h.Type), Flags: uint64(h.Flags), Addr: h.Addr,
			Off: offset, Size: uint64(len(data)), Addralign: h.Addralign,
		})
	}
	s.out.Write(data)
	s.count++
}

// finish appends the section headers and fills in the ELF header.
func (s *skeletonWriter) finish(phoff uint64) []byte {
	for s.out.Len()%8 != 0 {
		s.out.WriteByte(0)
	}
	shoff := uint64(s.out.Len())
	s.out.Write(s.headers.Bytes())
	b, bo := s.out.Bytes(), s.f.ByteOrder
	if s.f.Class == elf.ELFCLASS32 {
		bo.PutUint32(b[28:], uint32(phoff))
		bo.PutUint32(b[32:], uint32(shoff))
		bo.PutUint16(b[48:], s.count)
		bo.PutUint16(b[50:], s.count-1)
	} else {
		bo.PutUint64(b[32:], phoff)
		bo.PutUint64(b[40:], shoff)
		bo.PutUint16(b[60:], s.count)
		bo.PutUint16(b[62:], s.count-1)
	}
	return b
}
