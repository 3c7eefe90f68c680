package plan

import (
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/reader"
)

// Entries of functions, as Go 1.26 compiles them, and the length of their check.
var stackChecks = []struct {
	name    string
	machine elf.Machine
	code    string
	want    int
}{
	{"small frame", elf.EM_X86_64, "493b6610 7659 55", 6},
	{"small frame, far jump", elf.EM_X86_64, "493b6610 0f86a0040000 55", 10},
	{"system stack", elf.EM_X86_64, "493b6618 7659 55", 6},
	{"frame", elf.EM_X86_64, "4c8d6424a8 4d3b6610 7659 55", 11},
	{"large frame", elf.EM_X86_64, "4c8da42470ffffff 4d3b6610 0f8689070000 55", 18},
	{"huge frame", elf.EM_X86_64, "4989e4 4981ecf0ff0000 0f8289070000 4d3b6610 0f867c070000 55", 26},
	{"none", elf.EM_X86_64, "55 4889e5", 0},
	{"another comparison", elf.EM_X86_64, "493b6620 7659 55", 0},
	{"another jump", elf.EM_X86_64, "493b6610 7459 55", 0},
	{"cut off", elf.EM_X86_64, "493b6610 0f86a0", 0},
	{"small frame", elf.EM_AARCH64, "900b40f9 ff6330eb e9020054 fe0f1bf8", 12},
	{"frame", elf.EM_AARCH64, "900b40f9 f10301d1 3f0210eb 69260054 fe0f14f8", 16},
	{"none", elf.EM_AARCH64, "fe0f1bf8 fd831ff8", 0},
	{"another register", elf.EM_AARCH64, "910b40f9 ff6330eb e9020054", 0},
	{"cut off", elf.EM_AARCH64, "900b40f9 ff6330eb e902", 0},
	{"another machine", elf.EM_386, "493b6610 7659 55", 0},
}

func TestStackCheck(t *testing.T) {
	for _, test := range stackChecks {
		code, err := hex.DecodeString(strings.ReplaceAll(test.code, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		if got := behindStackCheck(code, test.machine); got != test.want {
			t.Errorf("%v, %s: got %d bytes, want %d", test.machine, test.name, got, test.want)
		}
	}
}

// TestStackChecks looks for the check in all functions of a program, and expects
// one in each function that calls the runtime for a larger stack.
func TestStackChecks(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		needs.Skip(t, "needs go: %v", err)
	}
	path := filepath.Join(t.TempDir(), "prog")
	cmd := exec.Command("go", "build", "-o", path, "../../testdata/gofunctions")
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	obj, err := operand.OpenObject(path)
	if err != nil {
		t.Fatal(err)
	}
	defer obj.Close()
	f, err := reader.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var grow []uint64 // where goroutines get larger stacks
	var functions []reader.Function
	for fn, err := range f.Functions() {
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(fn.Symbols[0], "runtime.morestack") {
			grow = append(grow, fn.Address)
		}
		functions = append(functions, fn)
	}
	checked, missed := 0, 0
	for _, fn := range functions {
		if fn.Convention != reader.GoRegisters || fn.Size == 0 {
			continue
		}
		code := obj.BytesAt(fn.Offset, int(min(fn.Size, operand.WindowSize)))
		n := behindStackCheck(code, obj.ELF.Machine)
		calls := callsOne(code, fn.Address, grow, obj.ELF.Machine)
		switch {
		case n > 0 && !calls:
			t.Errorf("%s has no check of %d bytes: it does not call for a larger stack", fn.Symbols[0], n)
		case n > 0:
			checked++
		case calls:
			missed++
		}
	}
	if checked < 500 || missed > checked/50 {
		t.Errorf("%d functions with a check found, %d missed", checked, missed)
	}
}

// callsOne reports whether code at addr has a call, or what looks like one, to
// one of targets.
func callsOne(code []byte, addr uint64, targets []uint64, m elf.Machine) bool {
	is := func(target uint64) bool {
		for _, t := range targets {
			if t == target {
				return true
			}
		}
		return false
	}
	if m == elf.EM_AARCH64 {
		for i := 0; i+4 <= len(code); i += 4 {
			insn := binary.LittleEndian.Uint32(code[i:])
			if insn>>26 == 0x25 && is(addr+uint64(i)+uint64(int64(int32(insn<<6))>>4)) { // bl
				return true
			}
		}
		return false
	}
	for i := 0; i+5 <= len(code); i++ {
		rel := int64(int32(binary.LittleEndian.Uint32(code[i+1:])))
		if code[i] == 0xe8 && is(addr+uint64(i)+5+uint64(rel)) { // call
			return true
		}
	}
	return false
}

// largeARM64 is the check of a function of arm64 whose frame has 40,000 bytes.
var largeARM64 = []byte{0x90, 0x0b, 0x40, 0xf9, 0x1b, 0x7a, 0x93, 0xd2, 0xf1, 0x63, 0x3b, 0xeb, 0x43, 0x05, 0, 0x54, 0x3f, 0x02, 0x10, 0xeb, 0x09, 0x05, 0, 0x54}

// TestStackCheckLarge checks that entries of such functions lie behind it.
func TestStackCheckLarge(t *testing.T) {
	if n := behindStackCheck(append(largeARM64, 0x1b, 0x8a, 0x93, 0xd2), elf.EM_AARCH64); n != len(largeARM64) {
		t.Errorf("a check of %d bytes, want %d", n, len(largeARM64))
	}
}

// FuzzStackCheck looks for checks in arbitrary bytes.
func FuzzStackCheck(f *testing.F) {
	f.Add([]byte{0x49, 0x3b, 0x66, 0x10, 0x76, 0x20}, false)
	f.Add([]byte{0x4c, 0x8d, 0xa4, 0x24, 0, 0, 0, 0xff, 0x4d, 0x3b, 0x66, 0x10, 0x0f, 0x86, 1, 2, 3, 4}, false)
	f.Add([]byte{0x90, 0x0b, 0x40, 0xf9, 0xff, 0x63, 0x30, 0xeb, 0x49, 0, 0, 0x54}, true)
	f.Add(largeARM64, true)
	f.Fuzz(func(t *testing.T, code []byte, arm bool) {
		m := elf.EM_X86_64
		if arm {
			m = elf.EM_AARCH64
		}
		n := behindStackCheck(code, m)
		if n < 0 || n > min(len(code), maxStackCheck) || n > 0 && behindStackCheck(code[:n], m) != n || n > 0 && behindStackCheck(code[:n-1], m) != 0 {
			t.Errorf("% x: the check has %d bytes", code, n)
		}
	})
}
