package stackswitch

import (
	"debug/elf"

	"github.com/go-usdt/usdt/internal/safeelf"
)

// code is a part of a file's machine code.
type code struct {
	bytes []byte
	mode  int  // of x86: 32 or 64
	whole bool // it begins where a function does
}

// machine finds switches in code of one architecture.
type machine struct {
	// at reports whether code, which begins at from, switches stacks at an offset of
	// which mayBe has said that it may.
	mayBe func(c *code, i int) bool
	at    func(c *code, from, i int) bool
	step  int // from one instruction to the next, or to the next byte
}

var machines = map[elf.Machine]*machine{elf.EM_X86_64: &amd64, elf.EM_386: &amd64, elf.EM_AARCH64: &arm64}

const (
	partSize = 1 << 20
	before   = 1 << 10 // is looked at before an instruction that loads the stack pointer
	after    = 1 << 9
)

// maxFunction is how much of a function is read before such an instruction.
const maxFunction = 1 << 20

// Function says where the function begins that has an address, if that is known, and
// whether switches in it do not count.
type Function func(addr uint64) (start uint64, known, skip bool)

// Find returns the address of the first switch of stacks in a file's code.
func Find(f *safeelf.File, function Function) (addr uint64, found bool) {
	m := machines[f.Machine]
	if m == nil {
		return 0, false
	}
	mode := 64
	if f.Class == elf.ELFCLASS32 {
		mode = 32
	}
	buf := make([]byte, before+partSize+after)
	for _, p := range partsOf(f) {
		for off := uint64(0); off < p.size; off += partSize {
			lead := min(off, before)
			c := &code{p.read(f, off-lead, buf[:lead+partSize+after]), mode, false}
			for i := int(lead); i < min(len(c.bytes), int(lead)+partSize); i += m.step {
				if !m.mayBe(c, i) || !m.at(c, max(i-before, 0), i) {
					continue
				}
				at := off - lead + uint64(i)
				start, known, skip := function(p.addr + at)
				if skip {
					continue
				}
				if start -= p.addr; known && start <= at && at-start <= maxFunction {
					c := &code{p.read(f, start, make([]byte, at-start+after)), mode, true}
					if !m.at(c, 0, int(at-start)) {
						continue
					}
				}
				return p.addr + at, true
			}
		}
	}
	return 0, false
}

// part is a part of a file that has code.
type part struct{ off, addr, size uint64 }

// partsOf returns the sections with code, or the segments of a file without sections.
func partsOf(f *safeelf.File) (parts []part) {
	for i := range f.Sections {
		if s := &f.Sections[i]; s.Flags&elf.SHF_EXECINSTR != 0 && s.Type == elf.SHT_PROGBITS {
			parts = append(parts, part{s.Offset, s.Addr, s.FileSize})
		}
	}
	if len(parts) > 0 {
		return parts
	}
	for i := range f.Progs {
		if p := &f.Progs[i]; p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 {
			parts = append(parts, part{p.Off, p.Vaddr, p.Filesz})
		}
	}
	return parts
}

// read reads code from an offset in the part on; what cannot be read is left out.
func (p *part) read(f *safeelf.File, off uint64, buf []byte) []byte {
	n, _ := f.ReadAt(buf[:min(uint64(len(buf)), p.size-off)], int64(p.off+off))
	return buf[:n]
}
