package safeelf

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
)

// uncompress returns the uncompressed contents of the SHF_COMPRESSED section s. It
// uses debug/elf, which knows zlib and zstd, on a file made of just this section, so
// that nothing else of a hostile file reaches debug/elf. It recovers from panics,
// since debug/elf does not promise never to panic.
func (f *File) uncompress(s *elf.SectionHeader, limit uint64) (out []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			out, err = nil, fmt.Errorf("debug/elf panics: %v", r)
		}
	}()
	if err := f.has(s.Offset, s.FileSize); err != nil {
		return nil, err
	}
	if err := f.Spend(costUnpack * s.FileSize); err != nil {
		return nil, err
	}
	file, err := elf.NewFile(f.wrap(s))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	u := file.Sections[1]
	if u.Size > limit {
		return nil, fmt.Errorf("it grows to %d bytes, more than the %d that are read", u.Size, limit)
	}
	if err := f.Spend(costUnpack * u.Size); err != nil {
		return nil, err
	}
	// The header's size may lie, so memory grows only with the output.
	out, err = io.ReadAll(io.LimitReader(u.Open(), int64(u.Size)))
	if err == nil && uint64(len(out)) < u.Size {
		err = fmt.Errorf("%d bytes come out instead of %d: %w", len(out), u.Size, io.ErrUnexpectedEOF)
	}
	return out, err
}

// wrap returns an ELF file of f's class and byte order. Its section 1 is s, and
// section 2 holds the names that debug/elf requires.
func (f *File) wrap(s *elf.SectionHeader) io.ReaderAt {
	var (
		b              bytes.Buffer
		ehsize, shsize = uint64(64), uint64(64)
		ident          = [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(f.Class), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)}
	)
	if f.Class == elf.ELFCLASS32 {
		ehsize, shsize = 52, 40
	}
	if f.ByteOrder == binary.ByteOrder(binary.BigEndian) {
		ident[elf.EI_DATA] = byte(elf.ELFDATA2MSB)
	}
	names := ehsize + 3*shsize // one NUL byte, then the section
	content := names + 8
	put := func(v any) { binary.Write(&b, f.ByteOrder, v) }
	if f.Class == elf.ELFCLASS32 {
		put(elf.Header32{Ident: ident, Type: uint16(f.Type), Machine: uint16(f.Machine), Version: uint32(elf.EV_CURRENT),
			Shoff: uint32(ehsize), Ehsize: uint16(ehsize), Shentsize: uint16(shsize), Shnum: 3, Shstrndx: 2})
		put(elf.Section32{})
		put(elf.Section32{Type: uint32(elf.SHT_PROGBITS), Flags: uint32(elf.SHF_COMPRESSED), Off: uint32(content), Size: uint32(s.FileSize)})
		put(elf.Section32{Type: uint32(elf.SHT_STRTAB), Off: uint32(names), Size: 1})
	} else {
		put(elf.Header64{Ident: ident, Type: uint16(f.Type), Machine: uint16(f.Machine), Version: uint32(elf.EV_CURRENT),
			Shoff: ehsize, Ehsize: uint16(ehsize), Shentsize: uint16(shsize), Shnum: 3, Shstrndx: 2})
		put(elf.Section64{})
		put(elf.Section64{Type: uint32(elf.SHT_PROGBITS), Flags: uint64(elf.SHF_COMPRESSED), Off: content, Size: s.FileSize})
		put(elf.Section64{Type: uint32(elf.SHT_STRTAB), Off: names, Size: 1})
	}
	b.Write(make([]byte, 8))
	return &behind{head: b.Bytes(), rest: io.NewSectionReader(f.r, int64(s.Offset), int64(s.FileSize))}
}

// behind is head followed by rest.
type behind struct {
	head []byte
	rest *io.SectionReader
}

func (b *behind) ReadAt(p []byte, off int64) (n int, err error) {
	if off < int64(len(b.head)) {
		n = copy(p, b.head[off:])
		if n == len(p) {
			return n, nil
		}
	}
	m, err := b.rest.ReadAt(p[n:], max(off-int64(len(b.head)), 0))
	return n + m, err
}
