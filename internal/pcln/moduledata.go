package pcln

import (
	"debug/elf"
	"iter"
	"slices"
)

const (
	// maxData is the largest number of bytes of a section in which moduledata is
	// looked for, and of relocations.
	maxData = 256 << 20
	// maxCandidates is the number of places that are looked at.
	maxCandidates = 64
	// words is the number of words that are looked at: moduledata had 67 or more since Go 1.18.
	words = 64
)

// module returns the words of the program's moduledata, nil if there is none. It begins
// with the addresses of the table and of its names.
func (p *program) module(t *Table, data []byte, sections []string) []uint64 {
	names := p.header + t.word(from(data, uint64(8+3*t.ptr)), t.ptr)
	for words := range p.candidates(t, sections) {
		if words[0] == p.header && words[1] == names {
			return words[:]
		}
	}
	return nil
}

// text finds where the program's text begins, from where addresses of functions count:
// moduledata has it, and also where the first function begins and the last one ends.
func (p *program) text(t *Table, words []uint64) (uint64, bool) {
	for _, addr := range words {
		if p.isCode(addr) && slices.Contains(words, addr+t.entry(0)) && slices.Contains(words, addr+t.entry(t.count)) {
			return addr, true
		}
	}
	return 0, false
}

// ownSections is the section that moduledata has to itself since Go 1.26, dataSections
// are all those in which it may be.
var (
	ownSections  = dataSections[:1]
	dataSections = []string{".go.module", ".noptrdata", ".data", ".data.rel.ro"}
)

// candidates yields the words at places in sections that may be moduledata: where the
// address of the table is.
func (p *program) candidates(t *Table, sections []string) iter.Seq[*[words]uint64] {
	return func(yield func(*[words]uint64) bool) {
		tried := 0
		for _, name := range sections {
			s := p.file.Section(name)
			if s == nil {
				continue
			}
			data, err := p.file.Data(s, maxData)
			if err != nil {
				continue
			}
			for at := 0; at+words*t.ptr <= len(data) && tried < maxCandidates; at += t.ptr {
				if t.word(data[at:], t.ptr) != p.header {
					continue
				}
				tried++
				if !yield(p.words(t, data[at:])) {
					return
				}
			}
		}
		p.relocated(t, yield)
	}
}

func (p *program) words(t *Table, data []byte) *[words]uint64 {
	var w [words]uint64
	for i := range w {
		w[i] = t.word(data[i*t.ptr:], t.ptr)
	}
	return &w
}

// relocated yields candidates of position-independent executables, whose words only
// the dynamic linker fills.
func (p *program) relocated(t *Table, yield func(*[words]uint64) bool) {
	var places []uint64
	for addr, value := range p.relocations() {
		if value == p.header && len(places) < maxCandidates {
			places = append(places, addr)
		}
	}
	if len(places) == 0 {
		return
	}
	slices.Sort(places)
	found := make([][words]uint64, len(places))
	for addr, value := range p.relocations() {
		// A word may be in several candidates, which overlap.
		i, _ := slices.BinarySearch(places, addr+1)
		for i--; i >= 0 && addr-places[i] < words*8; i-- {
			found[i][(addr-places[i])/8] = value
		}
	}
	for i := range found {
		if !yield(&found[i]) {
			return
		}
	}
}

// relocations yields the words that the dynamic linker fills with addresses of the
// program, and their values relative to where the program is loaded.
func (p *program) relocations() iter.Seq2[uint64, uint64] {
	return func(yield func(addr, value uint64) bool) {
		const size = 24 // sizeof(Elf64_Rela)
		for i := range p.file.Sections {
			s := &p.file.Sections[i]
			if s.Type != elf.SHT_RELA || s.Flags&elf.SHF_ALLOC == 0 || p.file.Class != elf.ELFCLASS64 {
				continue
			}
			data, err := p.file.Data(s, maxData)
			if err != nil {
				return
			}
			for bo := p.file.ByteOrder; len(data) >= size; data = data[size:] {
				if uint32(bo.Uint64(data[8:])) == relative(p.file.Machine) && !yield(bo.Uint64(data), bo.Uint64(data[16:])) {
					return
				}
			}
		}
	}
}

// relative returns the machine's type of relocations that add where the program is
// loaded.
func relative(m elf.Machine) uint32 {
	switch m {
	case elf.EM_AARCH64:
		return uint32(elf.R_AARCH64_RELATIVE)
	case elf.EM_RISCV:
		return uint32(elf.R_RISCV_RELATIVE)
	case elf.EM_PPC64:
		return uint32(elf.R_PPC64_RELATIVE)
	case elf.EM_S390:
		return uint32(elf.R_390_RELATIVE)
	}
	return uint32(elf.R_X86_64_RELATIVE)
}

// relocate fills data, which the program has at addr, as the dynamic linker does.
func (p *program) relocate(addr uint64, data []byte) {
	for at, value := range p.relocations() {
		if off := at - addr; off < uint64(len(data)) && uint64(len(data))-off >= 8 {
			p.file.ByteOrder.PutUint64(data[off:], value)
		}
	}
}
