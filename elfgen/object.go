package elfgen

import (
	"errors"
	"fmt"
	"strings"
)

// Object describes a shared object.
type Object struct {
	Class   Class
	Data    Data
	Machine Machine
	Flags   uint32 // e_flags; some machines need them

	// Soname becomes DT_SONAME unless it is empty.
	Soname string

	// PageSize is the largest page size, a power of two, with which the object can be
	// loaded. 0 means 4096.
	PageSize uint64

	// Sections are the sections in the order in which they are to appear. The writer
	// keeps that order among sections of equal permissions. It puts read-only
	// sections first, then executable, then writable, then unloaded ones. It adds
	// .note.gnu.build-id, .hash, .dynsym, .dynstr, .dynamic and .shstrtab itself.
	Sections []*Section

	// Symbols are the entries of the dynamic symbol table, in order; all are global.
	Symbols []Symbol
}

// Section is a section that the caller fills.
type Section struct {
	Name    string
	Type    SectionType // not SHT_NOBITS: semaphores and the like must be inside the file
	Flags   SectionFlag
	Align   uint64 // a power of two; 0 means 1
	Skip    uint64 // zero bytes before the section, to move it to a certain place
	Entsize uint64
	Size    uint64 // in bytes

	// Layout sets Addr and Offset. Addr is 0 without SHF_ALLOC; elsewhere it equals
	// Offset.
	Addr, Offset uint64

	index uint32 // in the section table
}

// Symbol is an entry of the dynamic symbol table.
type Symbol struct {
	Name    string
	Section *Section // one of Object.Sections, with SHF_ALLOC
	Offset  uint64   // from the start of Section
	Size    uint64
	Type    SymType
}

// permission groups sections into segments. The order is that of the file.
type permission int

const (
	readOnly permission = iota
	executable
	writable
	notLoaded
)

func (s *Section) permission() permission {
	switch {
	case s.Flags&SHF_ALLOC == 0:
		return notLoaded
	case s.Flags&SHF_EXECINSTR != 0:
		return executable
	case s.Flags&SHF_WRITE != 0:
		return writable
	}
	return readOnly
}

func (s *Section) align() uint64 { return max(s.Align, 1) }

const (
	minPage = 1024 // no ELF machine has smaller ones
	// maxSection keeps the sums of all sizes and alignments within 64 bits.
	maxSection = 1 << 40
)

// made reports whether the writer adds the section called name.
func made(name string) bool {
	switch name {
	case ".note.gnu.build-id", ".hash", ".dynsym", ".dynstr", ".dynamic", ".shstrtab":
		return true
	}
	return false
}

// faults are the errors of a description.
type faults []error

// add adds the error that format makes of a name and of args. Were add inlined wherever it
// is called, each service that declares probes would grow by 2 kB. That the name is none of
// args, which each call would have to make, saves another half kB.
//
//go:noinline
func (f *faults) add(format, name string, args ...any) {
	*f = append(*f, errorf(format, append([]any{name}, args...)...))
}

// errorf is fmt.Errorf, not inlined for the same reason.
//
//go:noinline
func errorf(format string, args ...any) error { return fmt.Errorf(format, args...) }

func hasNUL(s string) bool { return strings.IndexByte(s, 0) >= 0 }

// check returns an error for what cannot be written of the description.
func (o *Object) check() error {
	if o.Class != ELFCLASS32 && o.Class != ELFCLASS64 {
		return errorf("unknown ELF class %v", o.Class)
	}
	if o.Data != ELFDATA2LSB && o.Data != ELFDATA2MSB {
		return errorf("unknown ELF data encoding %v", o.Data)
	}
	if o.PageSize&(o.PageSize-1) != 0 || o.PageSize != 0 && o.PageSize < minPage {
		return errorf("page size %d is not a power of two of at least %d", o.PageSize, minPage)
	}
	if hasNUL(o.Soname) {
		return errorf("soname %q has a NUL byte", o.Soname)
	}
	var wrong faults
	for i, s := range o.Sections {
		if s == nil {
			return errorf("section %d is nil", i)
		}
		switch {
		case made(s.Name):
			wrong.add("section %s is the writer's own", s.Name)
		case s.Size > maxSection:
			wrong.add("section %s has %d bytes, %d are the most", s.Name, s.Size, uint64(maxSection))
		case s.Skip > maxSection:
			wrong.add("section %s skips %d bytes, %d are the most", s.Name, s.Skip, uint64(maxSection))
		case s.Name == "" || hasNUL(s.Name):
			wrong.add("section name %q is empty or has a NUL byte", s.Name)
		case s.Type == SHT_NOBITS:
			wrong.add("section %s is SHT_NOBITS, which this writer does not support", s.Name)
		case s.align()&(s.align()-1) != 0 || s.align() > o.pageSize():
			wrong.add("section %s has alignment %d, want a power of two up to the page size", s.Name, s.Align)
		case s.Flags&SHF_EXECINSTR != 0 && s.Flags&SHF_WRITE != 0:
			wrong.add("section %s is writable and executable", s.Name)
		case o.lists(s, i):
			wrong.add("section %s is listed twice", s.Name)
		}
		s.index = uint32(i)
	}
	for i := range o.Symbols {
		sym := &o.Symbols[i]
		switch {
		case sym.Name == "" || hasNUL(sym.Name):
			wrong.add("symbol name %q is empty or has a NUL byte", sym.Name)
		case !o.lists(sym.Section, len(o.Sections)) || sym.Section.Flags&SHF_ALLOC == 0:
			wrong.add("symbol %s is in no loaded section of the object", sym.Name)
		case sym.Offset > sym.Section.Size || sym.Size > sym.Section.Size-sym.Offset:
			wrong.add("symbol %s reaches beyond section %s", sym.Name, sym.Section.Name)
		}
	}
	return errors.Join(wrong...)
}

// lists reports whether s is among the first n sections, whose indexes are those in
// o.Sections so far. (A map of them would add a kB to each service that declares
// probes.)
func (o *Object) lists(s *Section, n int) bool {
	return s != nil && int(s.index) < n && o.Sections[s.index] == s
}

func (o *Object) pageSize() uint64 {
	if o.PageSize == 0 {
		return 4096
	}
	return o.PageSize
}
