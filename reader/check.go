package reader

import (
	"debug/elf"
	"errors"
	"fmt"

	"github.com/go-usdt/usdt/notes"
)

// Limits of consumers.
const (
	// perf makes the group "sdt_PROVIDER" and the event NAME of a probe, of 63
	// bytes each (include/linux/trace_events.h and kernel/trace/trace.h:
	// MAX_EVENT_NAME_LEN 64, with the NUL).
	maxPerfProvider = 63 - len("sdt_")
	maxPerfName     = 63
	maxLibbpfArgs   = 12 // usdt.bpf.h: BPF_USDT_MAX_ARG_CNT
)

// Check checks the file's probes by the rules of the tools that attach to them, for
// authors of probes made by this module or by other means. It returns what a tool
// would miss or refuse: errors that begin with the tool's name, joined, the first 100
// of them. It fails for a file of debug symbols, which lacks what tools need: check
// the binary instead.
//
// The rules follow libbpf 1.7 (usdt.c), with which bpftrace attaches since
// 0.24, bcc 0.35 (bcc_elf.c), gdb 13 (stap-probe.c), perf 6 (probe-file.c) and Linux
// 6.18 (uprobes.c).
func (f *File) Check() error {
	c := checker{f: f, sections: map[string]int{}}
	for i, s := range f.elf.Sections {
		if _, ok := c.sections[s.Name]; !ok {
			c.sections[s.Name] = i
		}
	}
	c.file()
	n, ok := c.sections[notes.SectionName]
	if !ok {
		c.miss("every consumer", "there is no section %s", notes.SectionName)
		return errors.Join(c.errs...)
	}
	if t := f.elf.Sections[n].Type; t != elf.SHT_NOTE {
		c.miss("libbpf", "section %s is %v, want SHT_NOTE", notes.SectionName, t)
	}
	sections, err := f.notes()
	if err != nil {
		c.miss("every consumer", "%w", err)
	}
	for _, s := range sections {
		for note, err := range notes.Read(s, s.Size(), f.elf.ByteOrder, notes.Class(f.elf.Class)) {
			if err != nil {
				c.miss("libbpf", "it refuses the whole file for one bad note: %w", err)
			} else {
				c.note(note)
			}
			if len(c.errs) > maxErrors {
				c.errs = append(c.errs[:maxErrors], fmt.Errorf("more than %d faults: the rest is not listed", maxErrors))
				return errors.Join(c.errs...)
			}
		}
	}
	c.shared()
	return errors.Join(c.errs...)
}

type checker struct {
	f        *File
	sections map[string]int // index of the first section with each name
	errs     []error
	args     []notes.Arg // of one note
}

func (c *checker) miss(consumer, format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf(consumer+": "+format, args...))
}

// file checks what does not depend on a probe.
func (c *checker) file() {
	if t := c.f.elf.Type; t != elf.ET_DYN && t != elf.ET_EXEC {
		c.miss("libbpf", "the file is %v, want ET_DYN or ET_EXEC", t)
	}
	if _, ok := c.sections[".note.gnu.build-id"]; !ok {
		c.miss("perf", "without a build-id buildid-cache refuses the file")
	}
	if _, ok := c.sections[notes.BaseSectionName]; !ok {
		c.miss("gdb", "without %s it reads no probes", notes.BaseSectionName)
	}
	// bcc walks the section table once: code, then .probes, then the notes.
	code := 0
	for i, s := range c.f.elf.Sections {
		if s.Flags&elf.SHF_EXECINSTR != 0 {
			code = i
			break
		}
	}
	probes, hasProbes := c.sections[notes.ProbeSectionName]
	note := c.sections[notes.SectionName]
	if hasProbes && (probes < code || note < probes) || note < code {
		c.miss("bcc", "sections must come in the order code, %s, %s", notes.ProbeSectionName, notes.SectionName)
	}
}

func (c *checker) note(n notes.Note) {
	probe := n.Provider + ":" + n.Name
	if !isIdentifier(n.Provider) || !isIdentifier(n.Name) || len(n.Provider) > maxPerfProvider || len(n.Name) > maxPerfName {
		c.miss("perf", "%s cannot be the name of an event", probe)
	}
	if site := c.segment(n.Location); site == nil || site.Flags&elf.PF_X == 0 {
		c.miss("libbpf", "%s: the site %#x is in no executable segment", probe, n.Location)
	} else {
		if site.Flags&elf.PF_W != 0 {
			c.miss("linux", "%s: the site %#x is in a writable segment, into which the kernel puts no breakpoints", probe, n.Location)
		}
		c.site(probe, n.Location, site)
	}
	if i, ok := c.sections[notes.BaseSectionName]; ok && n.Base == 0 && c.f.elf.Sections[i].Addr != 0 {
		// Both add the section's address less the base, gdb to semaphores also.
		c.miss("gdb, libbpf before 1.7", "%s: the note's base is 0 and %s is at %#x, by which they look too far behind the site", probe, notes.BaseSectionName, c.f.elf.Sections[i].Addr)
	}
	if n.Semaphore != 0 {
		c.semaphore(probe, &n)
	}
	c.arguments(probe, n.Args)
}

// segment returns the PT_LOAD that holds an address, nil if there is none.
func (c *checker) segment(addr uint64) *elf.ProgHeader {
	for i := range c.f.elf.Progs {
		if p := &c.f.elf.Progs[i]; p.Type == elf.PT_LOAD && addr >= p.Vaddr && addr-p.Vaddr < p.Memsz {
			return p
		}
	}
	return nil
}

// site checks that a site lies in one page if the kernel could optimise it.
func (c *checker) site(probe string, addr uint64, seg *elf.ProgHeader) {
	if c.f.elf.Machine != elf.EM_X86_64 {
		return
	}
	off := addr - seg.Vaddr
	if off >= seg.Filesz {
		return
	}
	code := make([]byte, min(siteSize, seg.Filesz-off))
	n, _ := c.f.elf.ReadAt(code, int64(seg.Off+off))
	kind := notes.SiteKindOf(notes.Machine(c.f.elf.Machine), c.f.elf.ByteOrder, code[:n])
	if (kind == notes.SiteNop5 || kind == notes.SiteNop10) && addr%pageSize+uint64(len(kind.AMD64())) > pageSize {
		c.miss("linux", "%s: the site %#x crosses a page, so it is never optimised", probe, addr)
	}
}

func (c *checker) semaphore(probe string, n *notes.Note) {
	addr := n.Semaphore
	if i, ok := c.sections[notes.ProbeSectionName]; !ok || addr < c.f.elf.Sections[i].Addr || addr-c.f.elf.Sections[i].Addr >= c.f.elf.Sections[i].Size {
		c.miss("bcc", "%s: the semaphore %#x is not in a section %s", probe, addr, notes.ProbeSectionName)
	}
	seg := c.segment(addr)
	switch {
	case seg == nil:
		c.miss("libbpf", "%s: the semaphore %#x is in no segment", probe, addr)
		return
	case seg.Flags&elf.PF_X != 0:
		c.miss("libbpf", "%s: the semaphore %#x is in an executable segment", probe, addr)
	case seg.Flags&elf.PF_W == 0:
		c.miss("linux", "%s: the semaphore %#x is in a read-only segment", probe, addr)
	case addr-seg.Vaddr+2 > seg.Filesz:
		c.miss("linux", "%s: the semaphore %#x is not in the file, so processes that start later lose it", probe, addr)
	case addr%2 != 0:
		c.miss("linux", "%s: the semaphore %#x is odd", probe, addr)
	}
	for _, p := range c.f.elf.Progs {
		if p.Type == elf.PT_GNU_RELRO && addr >= p.Vaddr && addr-p.Vaddr < p.Memsz {
			c.miss("linux", "%s: the semaphore %#x is read-only after relocation", probe, addr)
		}
	}
	if err := c.miscounted(n); err != nil {
		c.miss("linux", "%s: the %w", probe, err)
	}
}

// miscounted says that tools which rely on the kernel's count miss events.
func (c *checker) miscounted(n *notes.Note) error {
	l := &c.f.layout
	p := &Probe{Note: *n, Delta: l.delta(n)}
	p.Offset, p.SiteErr = l.site(n.Location + p.Delta)
	_, err := l.semaphore(n.Semaphore + p.Delta)
	if err == nil {
		err = l.counts(p)
	}
	if errors.Is(err, ErrMiscounted) || errors.Is(err, errShadowed) {
		return err
	}
	return nil
}

func (c *checker) arguments(probe, args string) {
	list := notes.AppendArgs(c.args[:0], notes.Machine(c.f.elf.Machine), notes.Class(c.f.elf.Class), args)
	c.args = list
	if len(list) > maxLibbpfArgs {
		c.miss("libbpf", "%s has %d arguments, %d are the most", probe, len(list), maxLibbpfArgs)
	}
	for _, a := range list {
		switch {
		case a.Err != nil:
			c.miss("every consumer", "%s: %w", probe, a.Err)
		case a.Float || a.Size > 8:
			c.miss("gdb", "%s: argument %q makes it give up all arguments of the probe", probe, a.Text)
		case a.Symbol != "":
			c.miss("libbpf", "%s: argument %q names a symbol, which makes it refuse the probe", probe, a.Text)
		}
	}
}

func isIdentifier(name string) bool {
	for i := range len(name) {
		c := name[i]
		letter := 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}
