package reader

import (
	"cmp"
	"debug/elf"
	"errors"
	"fmt"
	"slices"

	"github.com/go-usdt/usdt/internal/safeelf"
	"github.com/go-usdt/usdt/notes"
)

// Errors that say why a semaphore does not count. [Probe.SemaphoreErr] wraps them.
var (
	// ErrNotLoaded says that the address is in no part of the file that a process
	// maps. Probe.SiteErr also wraps it.
	ErrNotLoaded = errors.New("not in a loaded segment of the file")
	// ErrNotWritable says that the kernel could not write to the semaphore.
	ErrNotWritable = errors.New("in a segment that is not writable")
	// ErrRelro says that the dynamic linker makes the semaphore read-only. The kernel
	// does not count up in processes that run already, and never counts back in
	// others.
	ErrRelro = errors.New("in the segment that becomes read-only after relocation (RELRO)")
	// ErrBss says that the semaphore is not in the file's bytes: a process that
	// starts while a tracer is attached clears the count.
	ErrBss = errors.New("in memory that the file does not hold (.bss)")
	// ErrMiscounted says that segments share pages of the file, as linkers other than
	// GNU ld lay them out. The kernel finds a semaphore by its offset in the file: in a
	// process that starts while a tracer is attached it raises the copy that becomes
	// read-only, or raises the count once and lowers it once for each copy of the site.
	// Package attach makes up for it, other tools do not.
	ErrMiscounted = errors.New("miscounted in processes that start while a tracer is attached, since segments share pages of the file")
	// ErrOdd says that the semaphore's file offset is odd, which the kernel refuses.
	ErrOdd = errors.New("at an odd offset")

	errNotExecutable = errors.New("in a segment that is not executable")
)

// addressError says why nothing can be at an address. It makes its text on demand,
// because a hostile file has millions of such errors.
type addressError struct {
	what string // "site", "semaphore"
	addr uint64
	why  error
}

func (e *addressError) Error() string { return fmt.Sprintf("%s at %#x is %v", e.what, e.addr, e.why) }

func (e *addressError) Unwrap() error { return e.why }

// pageSize is the smallest page of a supported architecture. Requirements on pages are checked
// for this size.
const pageSize = 4096

// layout maps the addresses of a file to offsets in it.
type layout struct {
	loads, exec []elf.ProgHeader // PT_LOAD by address; the executable ones
	relro       []elf.ProgHeader
	overlap     bool   // segments share pages of the file
	base        uint64 // address of .stapsdt.base
	hasBase     bool
}

func newLayout(f *safeelf.File) layout {
	var l layout
	for _, p := range f.Progs {
		switch p.Type {
		case elf.PT_LOAD:
			l.loads = append(l.loads, p)
			if p.Flags&elf.PF_X != 0 {
				l.exec = append(l.exec, p)
			}
		case elf.PT_GNU_RELRO:
			l.relro = append(l.relro, p)
		}
	}
	byAddr := func(a, b elf.ProgHeader) int { return cmp.Compare(a.Vaddr, b.Vaddr) }
	slices.SortStableFunc(l.loads, byAddr)
	slices.SortStableFunc(l.exec, byAddr)
	slices.SortStableFunc(l.relro, byAddr)
	l.overlap = overlap(l.loads)
	for i := range f.Sections {
		if f.Sections[i].Name == notes.BaseSectionName {
			l.base, l.hasBase = f.Sections[i].Addr, true
			break
		}
	}
	return l
}

// delta returns what was added to the file's addresses after n was written.
func (l *layout) delta(n *notes.Note) uint64 {
	if !l.hasBase || n.Base == 0 {
		return 0
	}
	return l.base - n.Base
}

// find returns the segment of segs, sorted by address, whose memory holds addr.
func find(segs []elf.ProgHeader, addr uint64) *elf.ProgHeader {
	lo, hi := 0, len(segs)
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if segs[mid].Vaddr <= addr {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 || addr-segs[lo-1].Vaddr >= segs[lo-1].Memsz {
		return nil
	}
	return &segs[lo-1]
}

// site returns the file offset of the instruction at addr.
func (l *layout) site(addr uint64) (uint64, error) {
	s := find(l.exec, addr)
	if s == nil {
		s = find(l.loads, addr)
	}
	if s == nil || addr-s.Vaddr >= s.Filesz {
		return 0, &addressError{"site", addr, ErrNotLoaded}
	}
	off := s.Off + (addr - s.Vaddr)
	if s.Flags&elf.PF_X == 0 {
		return off, &addressError{"site", addr, errNotExecutable}
	}
	return off, nil
}

// semaphore returns the file offset of the counter at addr, and the reason if the
// kernel cannot keep count there.
func (l *layout) semaphore(addr uint64) (uint64, error) {
	s := find(l.loads, addr)
	if s == nil {
		return 0, &addressError{"semaphore", addr, ErrNotLoaded}
	}
	in := addr - s.Vaddr
	off := s.Off + in
	var why error
	switch r := find(l.relro, addr); {
	case in >= s.Filesz || s.Filesz-in < 2:
		why = ErrBss
		// The loader maps the whole of the last page, then clears the rest of it.
		if in >= (s.Vaddr%pageSize+s.Filesz+pageSize-1)&^(pageSize-1)-s.Vaddr%pageSize {
			off = 0
		}
	case s.Flags&elf.PF_W == 0:
		why = ErrNotWritable
	// The dynamic linker rounds the end down to a page (glibc, _dl_protect_relro).
	case r != nil && addr < (r.Vaddr+r.Memsz)&^(pageSize-1):
		why = ErrRelro
	case off%2 != 0:
		why = ErrOdd
	default:
		if why = l.first(s, off); why == nil {
			return off, nil
		}
	}
	return off, &addressError{"semaphore", addr, why}
}

// errShadowed says that no process counts in a semaphore.
var errShadowed = errors.New("in a page of the file that another writable segment maps first, where the kernel counts")

// first returns nil if the kernel, which raises the first writable copy of an offset
// (kernel/events/uprobes.c: find_ref_ctr_vma), finds that in segment s.
func (l *layout) first(s *elf.ProgHeader, off uint64) error {
	if !l.overlap {
		return nil
	}
	for i := range l.loads {
		p := &l.loads[i]
		if p.Vaddr >= s.Vaddr {
			break
		}
		addr, ok := copyIn(p, off)
		if !ok || p.Flags&elf.PF_W == 0 {
			continue
		}
		if r := l.relroAt(addr); r == nil {
			return errShadowed
		}
		return ErrMiscounted
	}
	return nil
}

// overlap reports whether segments share pages of the file. It does not look at files
// of more segments than linkers make, which would take long for each probe.
func overlap(loads []elf.ProgHeader) bool {
	const most = 64
	if len(loads) > most {
		return false
	}
	for i := range loads {
		for j := range loads[:i] {
			_, after := copyIn(&loads[j], loads[i].Off)
			if _, before := copyIn(&loads[i], loads[j].Off); after || before {
				return true
			}
		}
	}
	return false
}

// relroAt returns the RELRO segment that makes the page with addr read-only.
func (l *layout) relroAt(addr uint64) *elf.ProgHeader {
	for i := range l.relro {
		r := &l.relro[i]
		if addr >= r.Vaddr&^(pageSize-1) && addr < (r.Vaddr+r.Memsz)&^(pageSize-1) {
			return r
		}
	}
	return nil
}

// copyIn returns the address of the byte at an offset in the pages that map p.
func copyIn(p *elf.ProgHeader, off uint64) (addr uint64, ok bool) {
	start := p.Off &^ (pageSize - 1)
	end := (p.Off + p.Filesz + pageSize - 1) &^ (pageSize - 1)
	if p.Filesz == 0 || off < start || off >= end {
		return 0, false
	}
	return p.Vaddr - (p.Off - start) + (off - start), true
}

// counts returns nil if the kernel raises the semaphore of a site as often as it lowers
// it: when a process maps the file, it puts a breakpoint into each read-only copy of the
// site and raises the semaphore once.
func (l *layout) counts(p *Probe) error {
	if p.SiteErr != nil || !l.overlap {
		return nil
	}
	copies := 0
	for i := range l.loads {
		s := &l.loads[i]
		if _, ok := copyIn(s, p.Offset); ok && s.Flags&elf.PF_W == 0 {
			copies++
		}
	}
	if copies > 1 {
		return &addressError{"semaphore", p.Semaphore + p.Delta, ErrMiscounted}
	}
	return nil
}
