package notes

import (
	"bufio"
	"debug/elf"
	"os"
	"testing"
)

// TestParseArgsCompiled checks that every argument which compilers made of
// testdata/compiled/args.c is understood, with the count and sizes of the source.
func TestParseArgsCompiled(t *testing.T) {
	for _, c := range []struct {
		file    string
		machine elf.Machine
		class   elf.Class
	}{
		{"x86-64", elf.EM_X86_64, elf.ELFCLASS64},
		{"x32", elf.EM_X86_64, elf.ELFCLASS32},
		{"i386", elf.EM_386, elf.ELFCLASS32},
		{"arm64", elf.EM_AARCH64, elf.ELFCLASS64},
		{"arm", elf.EM_ARM, elf.ELFCLASS32},
		{"ppc64", elf.EM_PPC64, elf.ELFCLASS64},
		{"s390x", elf.EM_S390, elf.ELFCLASS64},
		{"riscv", elf.EM_RISCV, elf.ELFCLASS64},
		{"mips", elf.EM_MIPS, elf.ELFCLASS64},
	} {
		t.Run(c.file, func(t *testing.T) {
			f, err := os.Open("testdata/compiled/" + c.file + ".txt")
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			word := wordSize(c.class)
			// The probes of args.c in the order of their notes.
			sizes := [][]int{
				{4, 4, word, 1, 8, 4, 4, 4, 4, 4, 4, 4},
				nil, // long double differs
				{4, word, word, 2, 1, 1, word, 2},
				{word, word, word, word},
				{8, 8, 8, 8, 4},
				{4, 1, 8, 2, 8, 4},
			}
			probe, compiler := 0, ""
			for s := bufio.NewScanner(f); s.Scan(); {
				if s.Text()[0] == '#' {
					probe, compiler = 0, s.Text()
					continue
				}
				args := ParseArgs(c.machine, c.class, s.Text())
				want := sizes[probe%len(sizes)]
				if want != nil && len(args) != len(want) {
					t.Errorf("%s: %q: got %d arguments, want %d", compiler, s.Text(), len(args), len(want))
				}
				for i, a := range args {
					if a.Err != nil {
						t.Errorf("%s: %v", compiler, a.Err)
						continue
					}
					if i < len(want) && a.Size != want[i] {
						t.Errorf("%s: %q: got size %d, want %d", compiler, a.Text, a.Size, want[i])
					}
					checkMeaning(t, c.machine, c.class, a)
					checkRoundTrip(t, c.machine, c.class, a)
				}
				probe++
			}
			if probe != len(sizes) {
				t.Errorf("%s: got %d probes, want %d", compiler, probe, len(sizes))
			}
		})
	}
}
