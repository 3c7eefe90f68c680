package plan

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"io"
	"iter"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/internal/safeelf"
)

// Programs that copy their own code learn where it is, mostly from a file in /proc, make memory
// executable, and put the copy in place of the code. That shows even where no name is known.

// mapsFiles are where programs read what they have mapped, as text for the C library or in
// formats of printf.
var mapsFiles = []string{"/proc/self/maps", "/proc/self/smaps", "/proc/self/map_files", "/proc/%d/maps", "/proc/%i/maps", "/proc/%u/maps", "/proc/%ld/maps"}

// constants are the values that a call may pass, by the opcodes that put a number into a register.
type constants map[byte]func(uint32) bool

// Calls that move memory to a fixed address, make it executable, or put new memory, to copy code to,
// in place of the old. C libraries do the last with protections that they read from files, or with
// none.
var (
	moving = constants{ecx: func(flags uint32) bool { return flags == unix.MREMAP_MAYMOVE|unix.MREMAP_FIXED }}
	making = constants{edx: func(prot uint32) bool {
		return prot == unix.PROT_READ|unix.PROT_EXEC || prot == unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC
	}}
	covering     = constants{ecx: fixed, edx: func(prot uint32) bool { return prot == unix.PROT_READ|unix.PROT_WRITE }}
	coveringCode = constants{ecx: fixed, edx: func(prot uint32) bool { return prot == unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC }}
)

func fixed(flags uint32) bool {
	const all = unix.MAP_FIXED | unix.MAP_ANONYMOUS | unix.MAP_PRIVATE
	return flags&all == all && flags&^(unix.MAP_HUGE_MASK<<unix.MAP_HUGE_SHIFT) < 1<<23
}

// copyingCode says by what a program for x86-64 seems to copy its own code, "" if it does not.
// Its calls with constants show what it asks for: many programs read what they have mapped, and
// make memory inaccessible or executable, for other reasons.
func copyingCode(o *operand.Object) string {
	f := o.ELF
	asks := func(name string, _ uint32, what constants) []uint64 { return calls(f, name, what) }
	switch program := slices.ContainsFunc(f.Progs, func(p elf.ProgHeader) bool { return p.Type == elf.PT_INTERP }); {
	case len(f.Dynamic(elf.DT_SONAME)) > 0:
		return ""
	case !program && static(f): // its C library calls the kernel by numbers
		asks = func(_ string, number uint32, what constants) []uint64 { return callsNumber(f, number, what) }
	case !program || !imports(f, "mmap") && !imports(f, "mmap64"):
		return ""
	}
	mapped := func(what constants) []uint64 {
		return append(asks("mmap", unix.SYS_MMAP, what), asks("mmap64", unix.SYS_MMAP, what)...)
	}
	made := asks("mprotect", unix.SYS_MPROTECT, making)
	if len(made) > 0 && (len(asks("mremap", unix.SYS_MREMAP, moving)) > 0 || beside(made, mapped(covering))) || len(mapped(coveringCode)) > 0 {
		if readsMaps(f) || imports(f, "dl_iterate_phdr") || takesOwnAddress(f) {
			return copyingItself
		}
	}
	return ""
}

// beside reports whether some of the calls are near others, as in one function.
func beside(calls, others []uint64) bool {
	const near = 512
	return slices.ContainsFunc(calls, func(a uint64) bool {
		return slices.ContainsFunc(others, func(b uint64) bool { return a-b < near || b-a < near })
	})
}

const copyingItself = "code that looks for itself, makes memory executable and puts it at a fixed address"

// static reports whether a file is a program that has all its libraries in it.
func static(f *safeelf.File) bool {
	return f.Machine == elf.EM_X86_64 && f.Class == elf.ELFCLASS64 && len(f.Dynamic(elf.DT_SONAME)) == 0 && len(f.Dynamic(elf.DT_NEEDED)) == 0
}

// callsNumber returns where a program calls a function that makes a system call, and passes
// constants that fit.
func callsNumber(f *safeelf.File, number uint32, what constants) (found []uint64) {
	load := binary.LittleEndian.AppendUint32([]byte{0xb8}, number) // mov $NUMBER,%eax
	const reach = 64                                               // of a function's beginning
	var stubs []uint64
	for s := range code(f) {
		each(f, s, string(load), func(_ []byte, at, _ uint64) bool {
			stubs = append(stubs, at)
			return false
		})
	}
	for s := range code(f) {
		each(f, s, "\xe8", func(before []byte, at, target uint64) bool {
			if what.passed(f, before) && slices.ContainsFunc(stubs, func(at uint64) bool { return at-target < reach }) {
				found = append(found, at)
			}
			return false
		})
	}
	return found
}

// passed reports whether code before a call puts constants that fit into the registers.
func (c constants) passed(f *safeelf.File, before []byte) bool {
	found := 0
	for register, fits := range c {
		for i := range max(len(before)-4, 0) {
			if before[i] == register && fits(f.ByteOrder.Uint32(before[i+1:])) {
				found++
				break
			}
		}
	}
	return found == len(c)
}

// readsMaps reports whether a file has the name of one in /proc that says what is mapped.
func readsMaps(f *safeelf.File) bool {
	return slices.ContainsFunc(f.Sections, func(s elf.SectionHeader) bool {
		constant := s.Type == elf.SHT_PROGBITS && s.Flags&(elf.SHF_ALLOC|elf.SHF_WRITE|elf.SHF_EXECINSTR) == elf.SHF_ALLOC
		return constant && find(io.NewSectionReader(f, int64(s.Offset), int64(s.FileSize)), mapsFiles) != ""
	})
}

// imports reports whether a program has the name in the strings of its dynamic symbols.
func imports(f *safeelf.File, name string) bool {
	s := f.Section(".dynstr")
	if s == nil {
		return false
	}
	names, err := f.Data(s, 64<<20)
	return err == nil && bytes.Contains(names, []byte(name+"\x00"))
}

// Opcodes of mov $NUMBER,REG.
const (
	ecx = 0xb9 // the fourth argument of a function
	edx = 0xba // the third
)

// calls returns where a program for x86-64 calls a function of a library and passes constants
// that fit.
func calls(f *safeelf.File, name string, what constants) (found []uint64) {
	slot := slotOf(f, name)
	if slot == 0 {
		return nil
	}
	stub := uint64(0)
	for s := range code(f) {
		each(f, s, "\xff\x25", func(_ []byte, at, target uint64) bool { // jmp *SLOT(%rip)
			if target == slot {
				stub = at
			}
			return target == slot
		})
	}
	passes := func(before []byte, at, target uint64) bool {
		// The stub may begin with endbr64, a prefix of the jump, or the number of the slot.
		if (target == slot || stub != 0 && stub-target <= 10) && what.passed(f, before) {
			found = append(found, at)
		}
		return false
	}
	for s := range code(f) {
		each(f, s, "\xe8", passes)     // call STUB
		each(f, s, "\xff\x15", passes) // call *SLOT(%rip)
	}
	return found
}

// code yields the sections of a file that hold instructions.
func code(f *safeelf.File) iter.Seq[*elf.SectionHeader] {
	return func(yield func(*elf.SectionHeader) bool) {
		for i := range f.Sections {
			if s := &f.Sections[i]; s.Flags&elf.SHF_EXECINSTR != 0 && s.Type == elf.SHT_PROGBITS && !yield(s) {
				return
			}
		}
	}
}

// takesOwnAddress reports whether code of a program takes the address of its first byte, as
// __executable_start or __ehdr_start.
func takesOwnAddress(f *safeelf.File) bool {
	i := slices.IndexFunc(f.Progs, func(p elf.ProgHeader) bool { return p.Type == elf.PT_LOAD })
	if i < 0 {
		return false
	}
	first := f.Progs[i].Vaddr
	for s := range code(f) {
		is := func(_ []byte, _, target uint64) bool { return target == first }
		for reg := range byte(8) {
			for _, rex := range []byte{0x48, 0x4c} { // lea FIRST(%rip),REG
				if each(f, s, string([]byte{rex, 0x8d, 0x05 | reg<<3}), is) {
					return true
				}
			}
			absolute := func(_ []byte, at, target uint64) bool { return target-at-5 == first }
			if f.Type == elf.ET_EXEC && each(f, s, string([]byte{0xb8 | reg}), absolute) { // mov $FIRST,REG
				return true
			}
		}
	}
	return false
}

// each calls visit with the addresses, and targets, of all that may be an instruction with an
// opcode and a distance of four bytes, and with the code before it, until visit returns true.
func each(f *safeelf.File, s *elf.SectionHeader, opcode string, visit func(before []byte, at, target uint64) bool) bool {
	const most, reach, window = 256 << 20, 64, 256 << 10
	r := io.NewSectionReader(f, int64(s.Offset), int64(min(s.FileSize, most)))
	size := len(opcode) + 4
	buf := make([]byte, window)
	// Code from address s.Addr+first on is in buf, and was visited before from.
	for first, kept, from := 0, 0, 0; ; {
		n, err := io.ReadFull(r, buf[kept:])
		code := buf[:kept+n]
		last := max(len(code)-size+1, from)
		for i := from; i < last; i++ {
			next := bytes.Index(code[i:], []byte(opcode))
			if next < 0 || i+next >= last {
				break
			}
			i += next
			end := i + size
			distance := int64(int32(f.ByteOrder.Uint32(code[end-4:])))
			if visit(code[max(i-reach, 0):i], s.Addr+uint64(first+i), s.Addr+uint64(first+end)+uint64(distance)) {
				return true
			}
		}
		if err != nil {
			return false
		}
		drop := max(last-reach, 0)
		kept = copy(buf, code[drop:])
		first, from = first+drop, last-drop
	}
}

// slotOf returns the address of the slot that the dynamic linker fills with the address of a
// function, in a program for x86-64; 0 if there is none.
func slotOf(f *safeelf.File, name string) uint64 {
	symbols, names := f.Section(".dynsym"), f.Section(".dynstr")
	if f.Machine != elf.EM_X86_64 || f.Class != elf.ELFCLASS64 || symbols == nil || names == nil {
		return 0
	}
	const most, symbolSize, relocationSize = 64 << 20, 24, 24
	table, err := f.Data(symbols, most)
	text, textErr := f.Data(names, most)
	if err != nil || textErr != nil {
		return 0
	}
	for _, s := range f.Sections {
		if s.Type != elf.SHT_RELA || s.Flags&elf.SHF_ALLOC == 0 {
			continue
		}
		data, err := f.Data(&s, most)
		if err != nil {
			continue
		}
		for ; len(data) >= relocationSize; data = data[relocationSize:] {
			info := f.ByteOrder.Uint64(data[8:])
			at := info >> 32 * symbolSize
			if typ := elf.R_X86_64(uint32(info)); typ != elf.R_X86_64_JMP_SLOT && typ != elf.R_X86_64_GLOB_DAT || at+symbolSize > uint64(len(table)) {
				continue
			}
			if str := f.ByteOrder.Uint32(table[at:]); uint64(str) < uint64(len(text)) && bytes.HasPrefix(text[str:], []byte(name+"\x00")) {
				return f.ByteOrder.Uint64(data)
			}
		}
	}
	return 0
}
