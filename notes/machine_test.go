package notes

import (
	"debug/elf"
	"testing"
)

// TestNumbers checks that the numbers are those of package debug/elf.
func TestNumbers(t *testing.T) {
	for got, want := range map[Class]elf.Class{ELFCLASS32: elf.ELFCLASS32, ELFCLASS64: elf.ELFCLASS64} {
		if elf.Class(got) != want {
			t.Errorf("%v is %d here, and %d in debug/elf", want, got, want)
		}
	}
	for got, want := range map[Machine]elf.Machine{
		EM_NONE:      elf.EM_NONE,
		EM_386:       elf.EM_386,
		EM_MIPS:      elf.EM_MIPS,
		EM_PPC:       elf.EM_PPC,
		EM_PPC64:     elf.EM_PPC64,
		EM_S390:      elf.EM_S390,
		EM_ARM:       elf.EM_ARM,
		EM_X86_64:    elf.EM_X86_64,
		EM_AARCH64:   elf.EM_AARCH64,
		EM_RISCV:     elf.EM_RISCV,
		EM_LOONGARCH: elf.EM_LOONGARCH,
	} {
		if elf.Machine(got) != want {
			t.Errorf("%v is %d here, and %d in debug/elf", want, got, want)
		}
	}
}
