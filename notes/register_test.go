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
	var machine Machine
	var class Class
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
		machine Machine
		name    string
	}{
		{EM_X86_64, ""}, {EM_X86_64, "%rax"}, {EM_X86_64, "RAX"}, {EM_X86_64, "r16"}, {EM_X86_64, "r7"},
		{EM_X86_64, "r08"}, {EM_X86_64, "r8x"}, {EM_X86_64, "xmm32"}, {EM_X86_64, "st(8)"}, {EM_X86_64, "st(x)"},
		{EM_386, "rax"}, {EM_386, "r8"}, {EM_386, "sil"}, {EM_386, "xmm8"},
		{EM_AARCH64, "x32"}, {EM_AARCH64, "w31"}, {EM_AARCH64, "x-1"}, {EM_AARCH64, "x 1"},
		{EM_ARM, "r16"}, {EM_PPC64, "32"}, {EM_PPC64, "+1"}, {EM_S390, "r16"}, {EM_S390, "15"},
		{EM_RISCV, "t7"}, {EM_RISCV, "fsp"}, {EM_RISCV, "fra"}, {EM_RISCV, "ft12"}, {EM_MIPS, "32"},
		{EM_LOONGARCH, "r32"}, {Machine(elf.EM_SPARC), "o0"},
	} {
		if r, ok := LookupRegister(c.machine, ELFCLASS64, c.name); ok {
			t.Errorf("%v %q: got %+v, want none", c.machine, c.name, r)
		}
	}
}

func BenchmarkLookupRegister(b *testing.B) {
	for _, c := range []struct {
		machine Machine
		name    string
	}{{EM_X86_64, "rdi"}, {EM_X86_64, "r13"}, {EM_AARCH64, "x19"}, {EM_MIPS, "a0"}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				LookupRegister(c.machine, ELFCLASS64, c.name)
			}
		})
	}
}
