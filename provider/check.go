package provider

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"

	"github.com/go-usdt/usdt/notes"
)

// Check reads an ELF object with USDT probes by the rules of those who attach
// to it, and returns what one of them would miss or refuse: errors that begin
// with the consumer's name, joined. It is meant for tests of objects, of this
// package's or other producers'.
//
// The rules are those of libbpf 1.7 (usdt.c), which bpftrace attaches by since
// 0.24, bcc 0.35 (bcc_elf.c), gdb 13 (stap-probe.c), perf 6 (probe-file.c) and
// Linux 6.18 (uprobes.c).
func Check(object io.ReaderAt) (err error) {
	f, err := elf.NewFile(object)
	if err != nil {
		return fmt.Errorf("every consumer: %w", err)
	}
	defer f.Close()
	c := checker{f: f, sections: map[string]int{}}
	for i, s := range f.Sections {
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
	if t := f.Sections[n].Type; t != elf.SHT_NOTE {
		c.miss("libbpf", "section %s is %v, want SHT_NOTE", notes.SectionName, t)
	}
	data, err := f.Sections[n].Data()
	if err != nil {
		c.miss("every consumer", "%v", err)
	}
	for note, err := range notes.All(data, f.ByteOrder, f.Class) {
		if err != nil {
			c.miss("libbpf", "it refuses the whole file for one bad note: %v", err)
			continue
		}
		c.note(note)
	}
	return errors.Join(c.errs...)
}

type checker struct {
	f        *elf.File
	sections map[string]int // by name, the first
	errs     []error
}

func (c *checker) miss(consumer, format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf(consumer+": "+format, args...))
}

// file checks what does not depend on a probe.
func (c *checker) file() {
	if t := c.f.Type; t != elf.ET_DYN && t != elf.ET_EXEC {
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
	for i, s := range c.f.Sections {
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
	if !isIdentifier(n.Provider) || !isIdentifier(n.Name) || len(n.Provider) > maxProviderName || len(n.Name) > maxProbeName {
		c.miss("perf", "%s cannot be the name of an event", probe)
	}
	if site := c.segment(n.Location); site == nil || site.Flags&elf.PF_X == 0 {
		c.miss("libbpf", "%s: the site %#x is in no executable segment", probe, n.Location)
	} else {
		c.site(probe, n.Location, site)
	}
	if n.Semaphore != 0 {
		c.semaphore(probe, n.Semaphore)
	}
	c.arguments(probe, n.Args)
}

// segment returns the PT_LOAD of an address, nil without one.
func (c *checker) segment(addr uint64) *elf.Prog {
	for _, p := range c.f.Progs {
		if p.Type == elf.PT_LOAD && addr >= p.Vaddr && addr-p.Vaddr < p.Memsz {
			return p
		}
	}
	return nil
}

// site checks that a site which the kernel could optimise lies in one page.
func (c *checker) site(probe string, addr uint64, seg *elf.Prog) {
	if c.f.Machine != elf.EM_X86_64 {
		return
	}
	code := make([]byte, 10)
	n, _ := seg.ReadAt(code, int64(addr-seg.Vaddr))
	for _, s := range []string{"\x0f\x1f\x44\x00\x00", "\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00"} {
		if n >= len(s) && string(code[:len(s)]) == s && addr%4096+uint64(len(s)) > 4096 {
			c.miss("linux", "%s: the site %#x crosses a page, so it is never optimised", probe, addr)
		}
	}
}

func (c *checker) semaphore(probe string, addr uint64) {
	if i, ok := c.sections[notes.ProbeSectionName]; !ok || addr < c.f.Sections[i].Addr || addr-c.f.Sections[i].Addr >= c.f.Sections[i].Size {
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
	for _, p := range c.f.Progs {
		if p.Type == elf.PT_GNU_RELRO && addr >= p.Vaddr && addr-p.Vaddr < p.Memsz {
			c.miss("linux", "%s: the semaphore %#x is read-only after relocation", probe, addr)
		}
	}
}

func (c *checker) arguments(probe, args string) {
	list := notes.ParseArgs(c.f.Machine, c.f.Class, args)
	if len(list) > maxNoteArgs {
		c.miss("libbpf", "%s has %d arguments, %d are the most", probe, len(list), maxNoteArgs)
	}
	for _, a := range list {
		switch {
		case a.Err != nil:
			c.miss("every consumer", "%s: %v", probe, a.Err)
		case a.Float || a.Size > 8:
			c.miss("gdb", "%s: argument %q makes it give up all arguments of the probe", probe, a.Text)
		case a.Symbol != "":
			c.miss("libbpf", "%s: argument %q names a symbol, which makes it refuse the probe", probe, a.Text)
		}
	}
}
