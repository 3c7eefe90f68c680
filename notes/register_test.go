package notes

import (
	"bufio"
	"debug/elf"
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestLookupRegister(t *testing.T) {
	f, err := os.Open("testdata/registers.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var machine elf.Machine
	var class elf.Class
	line, checked := 0, 0
	for s := bufio.NewScanner(f); s.Scan(); {
		line++
		text := s.Text()
		if text == "" || text[0] == '#' {
			continue
		}
		if name, ok := strings.CutPrefix(text, "machine "); ok {
			name, c, _ := strings.Cut(name, " ")
			machine, class = machineNamed(t, name), classNamed(t, c)
			continue
		}
		name, want, _ := strings.Cut(text, " => ")
		r, ok := LookupRegister(machine, class, name)
		got := fmt.Sprintf("%s %v, %d, %d, %d", r.Name, r.Kind, r.DWARF, r.Size, r.Shift)
		if !ok {
			got = "none"
		}
		if got != want {
			t.Errorf("line %d: %v %s: got %s, want %s", line, machine, name, got, want)
		}
		if !ok {
			continue
		}
		whole, ok := LookupRegister(machine, class, r.Name)
		if !ok || whole.Name != r.Name || whole.Kind != r.Kind || whole.DWARF != r.DWARF || whole.Shift != 0 {
			t.Errorf("line %d: %v %s is a part of %s, which is %+v", line, machine, name, r.Name, whole)
		}
		checked++
	}
	if checked < 900 {
		t.Errorf("checked only %d names", checked)
	}
}

func TestLookupRegisterUnknown(t *testing.T) {
	for _, c := range []struct {
		machine elf.Machine
		name    string
	}{
		{elf.EM_X86_64, ""}, {elf.EM_X86_64, "%rax"}, {elf.EM_X86_64, "RAX"}, {elf.EM_X86_64, "r16"}, {elf.EM_X86_64, "r7"},
		{elf.EM_X86_64, "r08"}, {elf.EM_X86_64, "r8x"}, {elf.EM_X86_64, "xmm32"}, {elf.EM_X86_64, "st(8)"}, {elf.EM_X86_64, "st(x)"},
		{elf.EM_386, "rax"}, {elf.EM_386, "r8"}, {elf.EM_386, "sil"}, {elf.EM_386, "xmm8"},
		{elf.EM_AARCH64, "x32"}, {elf.EM_AARCH64, "w31"}, {elf.EM_AARCH64, "x-1"}, {elf.EM_AARCH64, "x 1"},
		{elf.EM_ARM, "r16"}, {elf.EM_PPC64, "32"}, {elf.EM_PPC64, "+1"}, {elf.EM_S390, "r16"}, {elf.EM_S390, "15"},
		{elf.EM_RISCV, "t7"}, {elf.EM_RISCV, "fsp"}, {elf.EM_RISCV, "fra"}, {elf.EM_RISCV, "ft12"}, {elf.EM_MIPS, "32"},
		{elf.EM_LOONGARCH, "r32"}, {elf.EM_SPARC, "o0"},
	} {
		if r, ok := LookupRegister(c.machine, elf.ELFCLASS64, c.name); ok {
			t.Errorf("%v %q: got %+v, want none", c.machine, c.name, r)
		}
	}
}

func BenchmarkLookupRegister(b *testing.B) {
	for _, c := range []struct {
		machine elf.Machine
		name    string
	}{{elf.EM_X86_64, "rdi"}, {elf.EM_X86_64, "r13"}, {elf.EM_AARCH64, "x19"}, {elf.EM_MIPS, "a0"}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				LookupRegister(c.machine, elf.ELFCLASS64, c.name)
			}
		})
	}
}
