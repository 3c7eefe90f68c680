package x86

import (
	"bufio"
	"debug/elf"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestInstructionSizes compares instruction sizes with objdump's in a file of machine
// code, and in libraries with much of it.
func TestInstructionSizes(t *testing.T) {
	needs.C(t)
	needs.Tools(t, "objdump")
	dir := t.TempDir()
	own := filepath.Join(dir, "vectors.o")
	needs.Run(t, "gcc", "-c", "-o", own, "testdata/vectors.S")
	own32 := filepath.Join(dir, "vectors32.o")
	needs.Run(t, "gcc", "-m32", "-c", "-o", own32, "testdata/vectors.S")
	libraries, err := filepath.Glob("/lib/*/libm.so.6")
	if err != nil || len(libraries) == 0 {
		needs.Skip(t, "needs libm.so.6: %v", err)
	}
	for _, path := range append(libraries, own, own32) {
		f, err := elf.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		s := f.Section(".text")
		code, err := s.Data()
		if err != nil {
			t.Fatal(err)
		}
		compared := 0
		lines := bufio.NewScanner(strings.NewReader(needs.Run(t, "objdump", "-dw", "-j", ".text", "--insn-width=16", path)))
		for lines.Scan() {
			columns := strings.Split(lines.Text(), "\t")
			if len(columns) < 3 || strings.Contains(columns[2], "(bad)") {
				continue
			}
			addr, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(columns[0]), ":"), 16, 64)
			if err != nil {
				continue
			}
			want, rest := len(strings.Fields(columns[1])), code[addr-s.Addr:]
			if rest[0] == 0x9b { // fwait, which objdump joins with the next instruction
				want = 1
			}
			compared++
			if got := Size(rest[:min(15, len(rest))], f.Class == elf.ELFCLASS64); got != want {
				t.Errorf("%s: %s has %d bytes, want %d", path, columns[2], got, want)
			}
		}
		if compared < 20 {
			t.Errorf("%s: only %d instructions were compared", path, compared)
		}
	}
}

// TestInstructionSizesCut disassembles code that ends within an instruction.
func TestInstructionSizesCut(t *testing.T) {
	for _, insn := range []string{"\xc5\xf8\x77", "\x62\xf1\x7c\x48\x10\x84\xc4\x00\x01\x02\x03", "\xc4\xe3\x79\x0f\x44\x8b\x01\x02", "\x8f\xea\x78\x10\x05\x00\x00\x00\x00\x01\x00\x00\x00"} {
		for n := range len(insn) {
			if got := Size([]byte(insn[:n]), true); got != 0 {
				t.Errorf("% x: got %d bytes, want none", insn[:n], got)
			}
		}
		if got := Size([]byte(insn), true); got != len(insn) {
			t.Errorf("% x: got %d bytes, want %d", insn, got, len(insn))
		}
	}
}
