package elfgen

import (
	"debug/elf"
	"testing"
)

// TestNumbers checks that the numbers are those of package debug/elf.
func TestNumbers(t *testing.T) {
	if elfMagic != elf.ELFMAG {
		t.Errorf("elfMagic is %q, debug/elf has %q", elfMagic, elf.ELFMAG)
	}
	for _, n := range []struct {
		name      string
		got, want uint64
	}{
		{"ELFCLASS32", uint64(ELFCLASS32), uint64(elf.ELFCLASS32)},
		{"ELFCLASS64", uint64(ELFCLASS64), uint64(elf.ELFCLASS64)},
		{"ELFDATA2LSB", uint64(ELFDATA2LSB), uint64(elf.ELFDATA2LSB)},
		{"ELFDATA2MSB", uint64(ELFDATA2MSB), uint64(elf.ELFDATA2MSB)},
		{"EM_S390", uint64(EM_S390), uint64(elf.EM_S390)},
		{"EM_ALPHA_STD", uint64(EM_ALPHA_STD), uint64(elf.EM_ALPHA_STD)},
		{"EM_X86_64", uint64(EM_X86_64), uint64(elf.EM_X86_64)},
		{"EM_AARCH64", uint64(EM_AARCH64), uint64(elf.EM_AARCH64)},
		{"EM_ALPHA", uint64(EM_ALPHA), uint64(elf.EM_ALPHA)},
		{"SHT_PROGBITS", uint64(SHT_PROGBITS), uint64(elf.SHT_PROGBITS)},
		{"SHT_STRTAB", uint64(SHT_STRTAB), uint64(elf.SHT_STRTAB)},
		{"SHT_HASH", uint64(SHT_HASH), uint64(elf.SHT_HASH)},
		{"SHT_DYNAMIC", uint64(SHT_DYNAMIC), uint64(elf.SHT_DYNAMIC)},
		{"SHT_NOTE", uint64(SHT_NOTE), uint64(elf.SHT_NOTE)},
		{"SHT_NOBITS", uint64(SHT_NOBITS), uint64(elf.SHT_NOBITS)},
		{"SHT_DYNSYM", uint64(SHT_DYNSYM), uint64(elf.SHT_DYNSYM)},
		{"SHF_WRITE", uint64(SHF_WRITE), uint64(elf.SHF_WRITE)},
		{"SHF_ALLOC", uint64(SHF_ALLOC), uint64(elf.SHF_ALLOC)},
		{"SHF_EXECINSTR", uint64(SHF_EXECINSTR), uint64(elf.SHF_EXECINSTR)},
		{"STT_OBJECT", uint64(STT_OBJECT), uint64(elf.STT_OBJECT)},
		{"STT_FUNC", uint64(STT_FUNC), uint64(elf.STT_FUNC)},
		{"PF_X", uint64(PF_X), uint64(elf.PF_X)},
		{"PF_W", uint64(PF_W), uint64(elf.PF_W)},
		{"PF_R", uint64(PF_R), uint64(elf.PF_R)},
		{"EV_CURRENT", evCurrent, uint64(elf.EV_CURRENT)},
		{"ELFOSABI_NONE", osABINone, uint64(elf.ELFOSABI_NONE)},
		{"ET_DYN", etDyn, uint64(elf.ET_DYN)},
		{"SHN_LORESERVE", shnLoReserve, uint64(elf.SHN_LORESERVE)},
		{"PT_LOAD", ptLoad, uint64(elf.PT_LOAD)},
		{"PT_DYNAMIC", ptDynamic, uint64(elf.PT_DYNAMIC)},
		{"PT_NOTE", ptNote, uint64(elf.PT_NOTE)},
		{"PT_GNU_STACK", ptGNUStack, uint64(elf.PT_GNU_STACK)},
		{"DT_NULL", dtNull, uint64(elf.DT_NULL)},
		{"DT_HASH", dtHash, uint64(elf.DT_HASH)},
		{"DT_STRTAB", dtStrTab, uint64(elf.DT_STRTAB)},
		{"DT_SYMTAB", dtSymTab, uint64(elf.DT_SYMTAB)},
		{"DT_STRSZ", dtStrSz, uint64(elf.DT_STRSZ)},
		{"DT_SYMENT", dtSymEnt, uint64(elf.DT_SYMENT)},
		{"DT_SONAME", dtSoname, uint64(elf.DT_SONAME)},
		{"STB_GLOBAL", stbGlobal, uint64(elf.STB_GLOBAL)},
		{"STV_DEFAULT", stvDefault, uint64(elf.STV_DEFAULT)},
	} {
		if n.got != n.want {
			t.Errorf("%s is %#x, debug/elf has %#x", n.name, n.got, n.want)
		}
	}
}
