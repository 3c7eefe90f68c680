package safeelf

import (
	"bytes"
	"debug/elf"
	"fmt"
	"io"
	"os"
	"strings"
)

// Section returns the first section with this name that has data in the file, nil if
// there is none. GNU's tools before 2.26 called .debug_info .zdebug_info if they had
// compressed it.
func (f *File) Section(name string) *elf.SectionHeader {
	for i := range f.Sections {
		if s := &f.Sections[i]; s.Name == name && s.Type != elf.SHT_NOBITS {
			return s
		}
	}
	if rest, ok := strings.CutPrefix(name, ".debug_"); ok {
		return f.Section(zdebug + rest)
	}
	return nil
}

const zdebug = ".zdebug_"

// Compressed reports whether a section's contents are compressed.
func Compressed(s *elf.SectionHeader) bool {
	return s.Flags&elf.SHF_COMPRESSED != 0 || strings.HasPrefix(s.Name, zdebug)
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
	if Compressed(s) {
		var out bytes.Buffer
		if err := f.uncompress(s, limit, func(uint64) (io.Writer, error) { return &out, nil }); err != nil {
			return nil, err
		}
		return out.Bytes(), nil
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

// maxMemory is the size in bytes of the largest section that Open unpacks into memory if
// the file is trusted.
const maxMemory = 16 << 20

// Open is like [File.Data] for sections that need not be in memory: it reads the
// contents from the file on demand, unless they are compressed. The caller spends the
// cost of reading them. Large sections of files that are trusted are unpacked into a
// temporary file, which is gone with the last reference to it. held is the number of
// bytes of memory that the contents take.
func (f *File) Open(s *elf.SectionHeader, limit uint64) (r *io.SectionReader, held int64, err error) {
	if s.Type == elf.SHT_NOBITS || s.FileSize > limit {
		data, err := f.Data(s, limit)
		return io.NewSectionReader(bytes.NewReader(data), 0, int64(len(data))), int64(len(data)), err
	}
	if !Compressed(s) {
		if err := f.has(s.Offset, s.FileSize); err != nil {
			return nil, 0, fmt.Errorf("read section %s: %w", s.Name, err)
		}
		return io.NewSectionReader(f.r, int64(s.Offset), int64(s.FileSize)), 0, nil
	}
	var memory bytes.Buffer
	var disk *os.File
	size := uint64(0)
	err = f.uncompress(s, limit, func(n uint64) (io.Writer, error) {
		if size = n; n <= maxMemory || !f.budget.trusted.Load() {
			return &memory, nil
		}
		var err error
		if disk, err = os.CreateTemp("", "usdt-symbols-"); err == nil {
			os.Remove(disk.Name())
		}
		return disk, err
	})
	switch {
	case err != nil && disk != nil:
		disk.Close()
		return nil, 0, err
	case disk != nil:
		return io.NewSectionReader(disk, 0, int64(size)), 0, nil
	}
	return io.NewSectionReader(bytes.NewReader(memory.Bytes()), 0, int64(memory.Len())), int64(memory.Cap()), err
}
