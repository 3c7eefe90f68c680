package plan

import (
	"debug/elf"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// instructions are instructions at which the kernel does harm, or refuses to put a
// probe, or neither.
var instructions = []struct {
	name    string
	machine elf.Machine
	code    string
	reason  string // its beginning, "" for none
}{
	{"vmovd", elf.EM_X86_64, "c5f97ec0", "the kernel takes this vector instruction (opcode 7e) for a conditional jump"},
	{"vpshufd", elf.EM_X86_64, "c5f970c044", "the kernel takes this vector instruction (opcode 70) for a conditional jump"},
	{"vzeroupper", elf.EM_X86_64, "c5f877", "the kernel takes this vector instruction (opcode 77) for a conditional jump"},
	{"vpbroadcastb with EVEX", elf.EM_X86_64, "62e27d487ac6", "the kernel takes this vector instruction (opcode 7a) for a conditional jump"},
	{"vpgatherdd", elf.EM_X86_64, "c4e269900c87", "the kernel takes this vector instruction (opcode 90) for a nop"},
	{"vpsubsb", elf.EM_X86_64, "c5f9e8c0", "the kernel takes this vector instruction (opcode e8) for a call"},
	{"vpor", elf.EM_X86_64, "c5f9ebc1", "the kernel takes this vector instruction (opcode eb) for a jump"},
	{"vcmpps", elf.EM_X86_64, "c5f8c2c100", "the kernel takes this vector instruction (opcode c2) for a return"},
	{"vpminsw", elf.EM_X86_64, "c5f9eac1", "the kernel takes this vector instruction (opcode ea) for a jump"},
	{"vfmsub132ps", elf.EM_X86_64, "c4e2719ac2", "the kernel takes this vector instruction (opcode 9a) for a call"},
	{"vfnmadd132ss", elf.EM_X86_64, "c4e2719dc2", "the kernel takes this vector instruction (opcode 9d) for a popf"},
	{"vmovd, 32 bits", elf.EM_386, "c5f97ec0", "the kernel takes this vector instruction (opcode 7e) for a conditional jump"},
	{"les", elf.EM_386, "c47e00", ""},
	{"push %es, 32 bits", elf.EM_386, "06", ""},
	{"pusha, 32 bits", elf.EM_386, "60", ""},
	{"pop %es, 32 bits", elf.EM_386, "07", "the kernel cannot probe"},
	{"in, 32 bits", elf.EM_386, "ec", "the kernel cannot probe"},
	{"vmovd from a register, 32 bits", elf.EM_386, "c5f96ec0", "the kernel cannot probe"},
	{"jump of 16 bits, 32 bits", elf.EM_386, "660f8400000000", "the kernel cannot probe"},
	{"vxorps", elf.EM_X86_64, "c5f857c0", ""},
	{"vaddps with EVEX", elf.EM_X86_64, "62f17c4858c1", ""},
	{"vpaddd", elf.EM_X86_64, "c5f9fec1", ""},
	{"vmovd from a register", elf.EM_X86_64, "c5f96ec0", "asked"},
	{"vpmaskmovd taken for mov to ss", elf.EM_X86_64, "c4e2718e17", "the kernel cannot probe an instruction that loads the stack segment"},
	{"vpcomb of XOP", elf.EM_X86_64, "8fe870ccc100", "the kernel does not know the registers of XOP"},
	{"mov with REX2", elf.EM_X86_64, "d5108bc1", "the kernel does not know the registers of XOP"},
	{"add of APX", elf.EM_X86_64, "62f47c1801c1", "the kernel does not know the registers of XOP"},
	{"pop", elf.EM_X86_64, "8f00", ""},
	{"xchg %rax,%r8", elf.EM_X86_64, "4990", "the kernel takes this exchange"},
	{"xchg with four prefixes", elf.EM_X86_64, "6666664990", "the kernel takes this exchange"},
	{"xchg %rax,%r9", elf.EM_X86_64, "4991", ""},
	{"nop", elf.EM_X86_64, "90", ""},
	{"pause", elf.EM_X86_64, "f390", ""},
	{"pushf", elf.EM_X86_64, "9c", "pushf would store"},
	{"pushf, 32 bits", elf.EM_386, "9c", "pushf would store"},
	{"syscall", elf.EM_X86_64, "0f05", "a system call would return"},
	{"sgdt", elf.EM_X86_64, "0f0100", "the kernel emulates"},
	{"smsw", elf.EM_X86_64, "0f01e0", "the kernel emulates"},
	{"xgetbv", elf.EM_X86_64, "0f01d0", ""},
	{"verr", elf.EM_X86_64, "0f00e0", ""},
	{"rep movsb", elf.EM_X86_64, "f3a4", "the probe would fire at each repetition"},
	{"rep stosq", elf.EM_X86_64, "f348ab", "the probe would fire at each repetition"},
	{"movsb", elf.EM_X86_64, "a4", ""},
	{"rep ret", elf.EM_X86_64, "f3c3", ""},
	{"a REX prefix before another", elf.EM_X86_64, "48668b0500000000", "the kernel misses a REX prefix"},
	{"two REX prefixes", elf.EM_X86_64, "4148e800000000", "the kernel misses a REX prefix"},
	{"inc, dec, 32 bits", elf.EM_386, "4148", ""},
	{"five prefixes", elf.EM_X86_64, "646667f2f38b00", "the kernel takes the fifth prefix"},
	{"five equal prefixes", elf.EM_X86_64, "66666666668b00", ""},
	{"far call", elf.EM_X86_64, "ff18", "the kernel does not mend the return address of a far call"},
	{"call", elf.EM_X86_64, "ff10", ""},
	{"seto behind rep", elf.EM_X86_64, "f30f900500000000", "the kernel misses the operand"},
	{"cmove behind rep", elf.EM_X86_64, "f3480f441d00000000", "the kernel misses the operand"},
	{"movntsd of AMD", elf.EM_X86_64, "f20f2b0500000000", "the kernel misses the operand"},
	{"movntss of AMD to a register's memory", elf.EM_X86_64, "f30f2b07", ""},
	{"pmaxud behind a segment", elf.EM_X86_64, "66640f383f3d00000000", "the kernel misses the operand"},
	{"pmaxud", elf.EM_X86_64, "64660f383f3d00000000", ""},
	{"movss", elf.EM_X86_64, "f30f100500000000", ""},
	{"popcnt", elf.EM_X86_64, "f30fb80500000000", ""},
	{"movups", elf.EM_X86_64, "0f100500000000", ""},
	{"cmove", elf.EM_X86_64, "480f441d00000000", ""},
	{"loop of 16 bits", elf.EM_X86_64, "66e120", "a 16-bit loop"},
	{"loop", elf.EM_X86_64, "e220", ""},
	{"in", elf.EM_X86_64, "ec", "asked"},
	{"lock", elf.EM_X86_64, "f00fc100", "the kernel cannot probe an instruction with a lock"},
	{"ldr of a vector register", elf.EM_AARCH64, "4000005c", "the kernel would load the vector register"},
	{"ldr of a general register", elf.EM_AARCH64, "40000058", "kernels before Linux 6.12 may crash"},
	{"ldrsw", elf.EM_AARCH64, "40000098", "kernels before Linux 6.12 may crash"},
	{"ldxr", elf.EM_AARCH64, "027c5f88", "the kernel cannot probe an exclusive"},
	{"stlxr", elf.EM_AARCH64, "02fc03c8", "the kernel cannot probe an exclusive"},
	{"ldar", elf.EM_AARCH64, "02fcdf88", ""},
	{"adr", elf.EM_AARCH64, "40000010", ""},
	{"ldr from a base", elf.EM_AARCH64, "000040fd", ""},
}

// TestMisjudged checks what is decided about instructions at entries, within functions,
// at returns, and at probes that are no nops.
func TestMisjudged(t *testing.T) {
	fn := &reader.Function{Symbols: []string{"f"}, Address: 0x1000}
	sites := map[string]reader.Probe{"entry": fn.Entry(), "within": fn.At(4), "return": fn.Return(), "USDT": {}}
	for _, test := range instructions {
		for kind, p := range sites {
			code, err := hex.DecodeString(test.code)
			if err != nil {
				t.Fatal(err)
			}
			if p.Machine, p.Class = test.machine, elf.ELFCLASS64; test.machine == elf.EM_386 {
				p.Class = elf.ELFCLASS32
			}
			asked := false
			s := site{probe: &p, object: &operand.Object{Window: append(code, make([]byte, maxReading)...)}}
			pl := &Planner{
				pageSize: 4096, switches: map[*operand.Object]string{s.object: ""}, throwers: map[*operand.Object]thrower{s.object: throwsNever},
				try: func([]byte) bool { asked = true; return true },
			}
			checks := kindOf(&p).checks
			if test.reason == "" { // later checks want the whole file
				checks = []func(*Planner, *site){(*Planner).nops, (*Planner).opcode}
			}
			for _, check := range checks {
				if s.Reason == nil {
					check(pl, &s)
				}
			}
			switch {
			case test.reason == "asked":
				if !asked || s.Reason == nil || errors.Is(s.Reason, ErrUnsafe) {
					t.Errorf("%s, %s: kernel asked: %t, reason %v; want its refusal", test.name, kind, asked, s.Reason)
				}
			case test.reason == "" && asked: // it refuses in this test
			case test.reason == "" && s.Reason != nil, test.reason != "" && (s.Reason == nil || !strings.HasPrefix(s.Reason.Error(), test.reason)):
				t.Errorf("%s, %s: reason %v, want %q", test.name, kind, s.Reason, test.reason)
			case s.Reason != nil && !errors.Is(s.Reason, ErrUnsafe) && !strings.HasPrefix(test.reason, "the kernel cannot probe"):
				t.Errorf("%s, %s: reason %v, want one that wraps ErrUnsafe", test.name, kind, s.Reason)
			}
		}
	}
}

// TestExclusive asks for the instructions of a loop around an exclusive load and its store,
// and for what is around it.
func TestExclusive(t *testing.T) {
	code, err := hex.DecodeString("1f2003d5" + // nop
		"017c5f88" + // ldxr w1, [x0]
		"21040011" + // add w1, w1, #1
		"017c0288" + // stxr w2, w1, [x0]
		"a2ffff35" + // cbnz w2, ldxr
		"017c5f88" + // ldxr w1, [x0]
		"c0035fd6" + // ret
		"1f2003d5" + // nop
		"017c5f88" + // ldxr w1, [x0]
		"5f3f03d5" + // clrex
		"1f2003d5") // nop
	if err != nil {
		t.Fatal(err)
	}
	const refused, unsafe = "cannot probe", "behind an exclusive load"
	fn := &reader.Function{Symbols: []string{"f"}}
	for i, want := range []string{"", refused, unsafe, refused, "", refused, unsafe, "", refused, unsafe, ""} {
		for _, target := range []*reader.Function{nil, fn} {
			p := &reader.Probe{Machine: elf.EM_AARCH64, Class: elf.ELFCLASS64, Target: target, Note: notes.Note{Location: uint64(4 * i)}}
			s := site{Decision: Decision{Offset: uint64(4 * i)}, probe: p, object: &operand.Object{Window: code}}
			(&Planner{}).opcode(&s)
			got := ""
			if s.Reason != nil {
				got = s.Reason.Error()
			}
			if want == "" && got != "" || !strings.Contains(got, want) {
				t.Errorf("instruction %d, function %v: got %q, want %q", i, target != nil, got, want)
			}
		}
	}
}
