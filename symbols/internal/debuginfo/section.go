package debuginfo

import (
	"bytes"
	"debug/elf"
	"io"

	"github.com/go-usdt/usdt/internal/safeelf"
)

// maxSection is the largest number of bytes of a section.
const maxSection = 4 << 30

// section is a section of debugging information: in the file or, if it was compressed
// there, in memory or a temporary file.
type section struct {
	r    *io.SectionReader // nil if there is no such section
	held int64             // bytes of memory
}

func openSection(f *safeelf.File, name string) (section, error) {
	s := f.Section(name)
	if s == nil {
		return section{}, nil
	}
	r, held, err := f.Open(s, maxSection)
	return section{r, held}, err
}

// openSections opens all sections with a name as one: GCC's .dwo files have a section for each unit
// with a type.
func openSections(f *safeelf.File, name string) (section, error) {
	var all []byte
	n := 0
	for i := range f.Sections {
		s := &f.Sections[i]
		if s.Name != name || s.Type == elf.SHT_NOBITS {
			continue
		}
		if n++; n == 1 {
			continue
		}
		if n == 2 {
			first, err := f.Data(f.Section(name), maxDwo)
			if err != nil {
				return section{}, err
			}
			all = first
		}
		data, err := f.Data(s, maxDwo-uint64(len(all)))
		if err != nil {
			return section{}, err
		}
		all = append(all, data...)
	}
	if n < 2 {
		return openSection(f, name)
	}
	return section{io.NewSectionReader(bytes.NewReader(all), 0, int64(len(all))), int64(cap(all))}, nil
}

// maxDwo is the largest number of bytes of sections with one name in a .dwo file.
const maxDwo = 256 << 20

func (s *section) size() uint64 {
	if s.r == nil {
		return 0
	}
	return uint64(s.r.Size())
}

// read fills as much of buf as the section has from off on, and returns that.
func (s *section) read(buf []byte, off uint64) []byte {
	if off >= s.size() {
		return nil
	}
	n, _ := s.r.ReadAt(buf[:min(uint64(len(buf)), s.size()-off)], int64(off))
	return buf[:n]
}

// str returns the string at off, "" if there is none.
func (s *section) str(off uint64) string {
	if off >= s.size() {
		return ""
	}
	str, _ := safeelf.String(s.r, off, maxString)
	return str
}

// maxString is the length in bytes of the longest name or path.
const maxString = 64 << 10
