package plan

import (
	"bytes"
	"debug/elf"
	"io"
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

// copyingCode says by what a program for x86-64 seems to copy its own code, "" if it does not.
// Its calls with constants show what it asks for: many programs read what they have mapped, and
// make memory inaccessible or executable, for other reasons.
func copyingCode(o *operand.Object) string {
	f := o.ELF
	program := slices.ContainsFunc(f.Progs, func(p elf.ProgHeader) bool { return p.Type == elf.PT_INTERP })
	if !program || len(f.Dynamic(elf.DT_SONAME)) > 0 || !imports(f, "mprotect") || !imports(f, "mmap") && !imports(f, "mmap64") {
		return ""
	}
	executable := func(prot uint32) bool {
		return prot == unix.PROT_READ|unix.PROT_EXEC || prot == unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC
	}
	if !calls(f, "mprotect", edx, executable) {
		return ""
	}
	moved := calls(f, "mremap", ecx, func(flags uint32) bool { return flags == unix.MREMAP_MAYMOVE|unix.MREMAP_FIXED })
	over := func(flags uint32) bool {
		const all = unix.MAP_FIXED | unix.MAP_ANONYMOUS | unix.MAP_PRIVATE
		return flags&all == all && flags < 1<<23
	}
	if !moved && !calls(f, "mmap", ecx, over) && !calls(f, "mmap64", ecx, over) {
		return ""
	}
	if !readsMaps(f) && !(moved && (imports(f, "dl_iterate_phdr") || takesOwnAddress(f))) {
		return ""
	}
	return "code that looks for itself, makes memory executable and puts it at a fixed address"
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

// calls reports whether a program for x86-64 calls a function of a library and passes, in a
// register, a constant that fits.
func calls(f *safeelf.File, name string, register byte, fits func(uint32) bool) bool {
	slot := slotOf(f, name)
	if slot == 0 {
		return false
	}
	var parts []elf.SectionHeader
	stub := uint64(0)
	for _, s := range f.Sections {
		if s.Flags&elf.SHF_EXECINSTR == 0 || s.Type != elf.SHT_PROGBITS {
			continue
		}
		parts = append(parts, s)
		each(f, &s, "\xff\x25", func(_ []byte, at, target uint64) bool { // jmp *SLOT(%rip)
			if target == slot {
				stub = at
			}
			return target == slot
		})
	}
	passes := func(before []byte, _, target uint64) bool {
		// The stub may begin with endbr64, a prefix of the jump, or the number of the slot.
		if target != slot && (stub == 0 || stub-target > 10) {
			return false
		}
		for i := range max(len(before)-4, 0) {
			if before[i] == register && fits(f.ByteOrder.Uint32(before[i+1:])) {
				return true
			}
		}
		return false
	}
	return slices.ContainsFunc(parts, func(s elf.SectionHeader) bool {
		return each(f, &s, "\xe8", passes) || each(f, &s, "\xff\x15", passes) // call STUB; call *SLOT(%rip)
	})
}

// takesOwnAddress reports whether code of a program takes the address of its first byte, as
// __executable_start or __ehdr_start.
func takesOwnAddress(f *safeelf.File) bool {
	i := slices.IndexFunc(f.Progs, func(p elf.ProgHeader) bool { return p.Type == elf.PT_LOAD })
	if i < 0 {
		return false
	}
	first := f.Progs[i].Vaddr
	for i := range f.Sections {
		s := &f.Sections[i]
		if s.Flags&elf.SHF_EXECINSTR == 0 || s.Type != elf.SHT_PROGBITS {
			continue
		}
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
	const most, reach = 256 << 20, 64
	code := make([]byte, min(s.FileSize, most))
	n, _ := f.ReadAt(code, int64(s.Offset))
	code = code[:n]
	for i := 0; ; i++ {
		next := bytes.Index(code[i:], []byte(opcode))
		if next < 0 {
			return false
		}
		i += next
		end := i + len(opcode) + 4
		if end > len(code) {
			return false
		}
		distance := int64(int32(f.ByteOrder.Uint32(code[end-4:])))
		if visit(code[max(i-reach, 0):i], s.Addr+uint64(i), s.Addr+uint64(end)+uint64(distance)) {
			return true
		}
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
