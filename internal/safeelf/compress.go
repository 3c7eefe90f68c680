package safeelf

import (
	"bytes"
	"compress/zlib"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// uncompress writes the uncompressed contents of the compressed section s to what open
// returns for their size. It recovers from panics, since the packages that decode do not
// promise never to panic.
func (f *File) uncompress(s *elf.SectionHeader, limit uint64, open func(size uint64) (io.Writer, error)) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("debug/elf panics: %v", r)
		}
		if err != nil {
			err = fmt.Errorf("uncompress section %s: %w", s.Name, err)
		}
	}()
	if err := f.has(s.Offset, s.FileSize); err != nil {
		return err
	}
	if err := f.Spend(costUnpack * s.FileSize); err != nil {
		return err
	}
	r, size, err := f.unpacked(s)
	if err != nil {
		return err
	}
	if size > limit {
		return fmt.Errorf("it grows to %d bytes, more than the %d that are read", size, limit)
	}
	if err := f.Spend(costUnpack * size); err != nil {
		return err
	}
	w, err := open(size)
	if err != nil {
		return err
	}
	// The header's size may lie, so memory grows only with the output.
	n, err := io.Copy(w, io.LimitReader(r, int64(size)))
	if err == nil && uint64(n) < size {
		err = fmt.Errorf("%d bytes come out instead of %d: %w", n, size, io.ErrUnexpectedEOF)
	}
	return err
}

// unpacked returns the contents of a compressed section, and the size that it claims.
// SHF_COMPRESSED is left to debug/elf, which knows zlib and zstd, on a file made of just
// this section, so that nothing else of a hostile file reaches debug/elf. Others begin
// with "ZLIB" and their size.
func (f *File) unpacked(s *elf.SectionHeader) (r io.Reader, size uint64, err error) {
	if s.Flags&elf.SHF_COMPRESSED != 0 {
		file, err := elf.NewFile(f.wrap(s))
		if err != nil {
			return nil, 0, err
		}
		return file.Sections[1].Open(), file.Sections[1].Size, nil
	}
	head, err := f.read(s.Offset, min(s.FileSize, 12))
	if err != nil {
		return nil, 0, err
	}
	if len(head) < 12 || string(head[:4]) != "ZLIB" {
		return nil, 0, errors.New("it does not begin with ZLIB and a size")
	}
	r, err = zlib.NewReader(io.NewSectionReader(f.r, int64(s.Offset)+12, int64(s.FileSize)-12))
	return r, binary.BigEndian.Uint64(head[4:]), err
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
