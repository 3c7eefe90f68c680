package collection

import (
	"debug/elf"
	"fmt"
	"testing"

	"github.com/go-usdt/usdt/attach/internal/libbpf"
	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/attach/internal/operand/operandtest"
	"github.com/go-usdt/usdt/notes"
)

// TestHeaderArgs expresses arguments in the terms of usdt.bpf.h.
func TestHeaderArgs(t *testing.T) {
	exec, shared := operandtest.Objects()
	const (
		site    = 0x1000
		beyond  = "usdt.bpf.h cannot read an address made of parts of registers"
		address = "the value is an address relative to the site: usdt.bpf.h can read memory there, but cannot compute the address"
	)
	names := map[libbpf.Kind]string{libbpf.Const: "const", libbpf.Register: "reg", libbpf.Memory: "mem", libbpf.Indexed: "indexed"}
	for _, test := range []struct {
		goarch  string
		machine elf.Machine
		obj     *operand.Object
		arg     string
		want    string // kind, value, registers, scale; or the error
	}{
		{"amd64", elf.EM_X86_64, shared, "-4@$-9", "const -9 0 0 0"},
		{"amd64", elf.EM_X86_64, shared, "8@%rdi", "reg 0 112 0 0"},
		{"amd64", elf.EM_X86_64, shared, "1@%ah", "reg 0 81 0 0"},
		{"amd64", elf.EM_X86_64, shared, "-4@-8(%rbp)", "mem -8 32 0 0"},
		{"amd64", elf.EM_X86_64, shared, "2@4(%rsi,%rcx,4)", "indexed 4 104 88 2"},
		{"amd64", elf.EM_X86_64, shared, "8@8+sym(%rip)", "mem 16392 128 0 0"},
		{"amd64", elf.EM_X86_64, shared, "8@sym@GOTPCREL(%rip)", "mem 14592 128 0 0"},
		{"amd64", elf.EM_X86_64, shared, "8@imported@GOTPCREL(%rip)", "mem 14336 128 0 0"},
		{"amd64", elf.EM_X86_64, shared, "8@$sym", "mem 14592 128 0 0"},
		{"amd64", elf.EM_X86_64, shared, "8@$sym+8", address},
		{"amd64", elf.EM_X86_64, exec, "8@sym@GOTPCREL(%rip)", "const 20480 0 0 0"},
		{"amd64", elf.EM_X86_64, exec, "8@$sym+8", "const 20488 0 0 0"},
		{"amd64", elf.EM_X86_64, exec, "4@sym(,%rax,4)", "indexed 16384 128 80 2"},
		{"amd64", elf.EM_X86_64, shared, "4@(%edi)", beyond},
		{"amd64", elf.EM_X86_64, shared, "8@%xmm0", `register "xmm0" is a vector register, which a BPF program cannot read`},
		{"amd64", elf.EM_386, exec, "-4@4(%esp)", "mem 4 152 0 0"},
		{"amd64", elf.EM_386, exec, "-4@-4(%ebp,%eax,2)", "indexed -4 32 80 1"},
		{"amd64", elf.EM_386, exec, "-8@%eax", "usdt.bpf.h cannot read a value in two registers"},
		{"arm64", elf.EM_AARCH64, shared, "-4@[sp, 60]", "mem 60 248 0 0"},
		{"arm64", elf.EM_AARCH64, shared, "8@[x0, x1, lsl 3]", "indexed 0 0 8 3"},
		{"arm64", elf.EM_AARCH64, shared, "8@[x0, w1, sxtw #3]", beyond},
		{"arm64", elf.EM_AARCH64, shared, "8@[x0, #:lo12:sym+8]", "mem 131 0 0 0"},
		{"arm64", elf.EM_AARCH64, shared, "8f@x4", "reg 0 32 0 0"},
		{"arm64", elf.EM_AARCH64, shared, "8@xzr", "const 0 0 0 0"},
	} {
		t.Run(fmt.Sprintf("%v/%s", test.machine, test.arg), func(t *testing.T) {
			class := elf.ELFCLASS64
			if test.machine == elf.EM_386 {
				class = elf.ELFCLASS32
			}
			regs, err := operand.RegistersOf(test.goarch, test.machine, class)
			if err != nil {
				t.Fatal(err)
			}
			a := notes.ParseArgs(notes.Machine(test.machine), notes.Class(class), test.arg)[0]
			op, err := operand.Compile(a, regs, test.machine, class, test.obj, site, 0)
			var arg libbpf.Arg
			if err == nil && op.Kind == operand.Address {
				op = storedAddress(op, test.obj, site, 0)
			}
			if err == nil {
				arg, err = headerArg(op, site, regs)
			}
			got := fmt.Sprintf("%s %d %d %d %d", names[arg.Kind], int64(arg.Value), arg.Reg, arg.Index, arg.Scale)
			if err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}
