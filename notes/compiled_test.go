package notes

import (
	"bufio"
	"os"
	"testing"
)

// TestParseArgsCompiled checks that every argument which compilers made of
// testdata/compiled/args.c is understood, with the count and sizes of the source.
func TestParseArgsCompiled(t *testing.T) {
	for _, c := range []struct {
		file    string
		machine Machine
		class   Class
	}{
		{"x86-64", EM_X86_64, ELFCLASS64},
		{"x32", EM_X86_64, ELFCLASS32},
		{"i386", EM_386, ELFCLASS32},
		{"arm64", EM_AARCH64, ELFCLASS64},
		{"arm", EM_ARM, ELFCLASS32},
		{"ppc64", EM_PPC64, ELFCLASS64},
		{"s390x", EM_S390, ELFCLASS64},
		{"riscv", EM_RISCV, ELFCLASS64},
		{"mips", EM_MIPS, ELFCLASS64},
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
