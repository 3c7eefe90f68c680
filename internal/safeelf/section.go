package safeelf

import (
	"bytes"
	"debug/elf"
	"fmt"
	"io"
)

// Section returns the first section with this name that has data in the file, nil if
// there is none.
func (f *File) Section(name string) *elf.SectionHeader {
	for i := range f.Sections {
		if s := &f.Sections[i]; s.Name == name && s.Type != elf.SHT_NOBITS {
			return s
		}
	}
	return nil
}

// Data returns the contents of section s, uncompressed. It returns an error if they
// have more than limit bytes or exceed the file's budget, which each call reduces.
func (f *File) Data(s *elf.SectionHeader, limit uint64) ([]byte, error) {
	if s.FileSize > limit {
		return nil, fmt.Errorf("section %s has %d bytes, more than the %d that are read", s.Name, s.FileSize, limit)
	}
	if s.Type == elf.SHT_NOBITS {
		return nil, nil
	}
	if s.Flags&elf.SHF_COMPRESSED != 0 {
		data, err := f.uncompress(s, limit)
		if err != nil {
			return nil, fmt.Errorf("uncompress section %s: %w", s.Name, err)
		}
		return data, nil
	}
	err := f.Spend(costRead * s.FileSize)
	var data []byte
	if err == nil {
		data, err = f.read(s.Offset, s.FileSize)
	}
	if err != nil {
		return nil, fmt.Errorf("read section %s: %w", s.Name, err)
	}
	return data, nil
}

// ReadAt reads from the file itself, as [io.ReaderAt] specifies.
func (f *File) ReadAt(p []byte, off int64) (int, error) { return f.r.ReadAt(p, off) }

// Open is like [File.Data] for sections that need not be in memory: it reads the
// contents from the file on demand, unless they are compressed. The caller spends the
// cost of reading them.
func (f *File) Open(s *elf.SectionHeader, limit uint64) (*io.SectionReader, error) {
	if s.Type == elf.SHT_NOBITS || s.Flags&elf.SHF_COMPRESSED != 0 || s.FileSize > limit {
		data, err := f.Data(s, limit)
		return io.NewSectionReader(bytes.NewReader(data), 0, int64(len(data))), err
	}
	if err := f.has(s.Offset, s.FileSize); err != nil {
		return nil, fmt.Errorf("read section %s: %w", s.Name, err)
	}
	return io.NewSectionReader(f.r, int64(s.Offset), int64(s.FileSize)), nil
}
