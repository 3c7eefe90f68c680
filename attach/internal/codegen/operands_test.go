package codegen

import (
	"debug/elf"
	"fmt"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/attach/internal/operand/operandtest"
	"github.com/go-usdt/usdt/notes"
)

// TestOperands compiles arguments for every architecture that can be a host, and
// compares the instructions that load their values or addresses.
func TestOperands(t *testing.T) {
	exec, shared := operandtest.Objects()
	const site = 0x1000
	for _, test := range []struct {
		goarch  string
		machine elf.Machine
		class   elf.Class
		obj     *operand.Object
		arg     string
		want    string // instructions, or the error
	}{
		{"amd64", elf.EM_X86_64, elf.ELFCLASS64, shared, "-4@$-9", "r3=-9"},
		{"amd64", elf.EM_X86_64, elf.ELFCLASS64, shared, "8@%rdi", "r3=ctx[112]"},
		{"amd64", elf.EM_X86_64, elf.ELFCLASS64, shared, "1@%ah", "r3=ctx[80]; r3>>=8"},
		{"amd64", elf.EM_X86_64, elf.ELFCLASS64, shared, "-4@-8(%rbp)", "r3=-8; r4=ctx[32]; r3+=r4; read 4"},
		{"amd64", elf.EM_X86_64, elf.ELFCLASS64, shared, "2@4(%rsi,%rcx,4)", "r3=4; r4=ctx[104]; r3+=r4; r4=ctx[88]; r4<<=2; r3+=r4; read 2"},
		{"amd64", elf.EM_X86_64, elf.ELFCLASS64, shared, "8@8+sym(%rip)", "r3=16392; r4=ctx[128]; r3+=r4; read 8"},
		{"amd64", elf.EM_X86_64, elf.ELFCLASS64, shared, "8@sym@GOTPCREL(%rip)", "r3=16384; r4=ctx[128]; r3+=r4"},
		{"amd64", elf.EM_X86_64, elf.ELFCLASS64, shared, "8@none(%rip)", "symbol not found"},
		{"amd64", elf.EM_X86_64, elf.ELFCLASS64, nil, "8@sym(%rip)", "the object that has the symbol sym cannot be opened"},
		{"amd64", elf.EM_X86_64, elf.ELFCLASS64, nil, "8@$sym", "the object that has the symbol sym cannot be opened"},
		{"amd64", elf.EM_X86_64, elf.ELFCLASS64, exec, "4@sym(,%rax,4)", "r3=20480; r4=ctx[80]; r4<<=2; r3+=r4; read 4"},
		{"amd64", elf.EM_X86_64, elf.ELFCLASS64, shared, "4@sym(,%rax,4)", "address of sym is added to a register, but the object has no fixed address"},
		{"amd64", elf.EM_X86_64, elf.ELFCLASS64, shared, "16f@%rsi", "a value of 16 bytes is not an integer that events can hold"},
		{"amd64", elf.EM_X86_64, elf.ELFCLASS64, shared, "8@%xmm0", `register "xmm0" is a vector register, which a BPF program cannot read`},
		{"amd64", elf.EM_386, elf.ELFCLASS32, exec, "-4@4(%esp)", "r3=4; r4=ctx[152]; r3+=r4; r3<<=32; r3>>=32; read 4"},
		{"amd64", elf.EM_386, elf.ELFCLASS32, exec, "-8@%eax", "r3=ctx[80]; r4=ctx[96]; r3<<=32; r3>>=32; r4<<=32; r3|=r4"},
		{"amd64", elf.EM_386, elf.ELFCLASS32, shared, "-4@40+sym@GOTOFF(%ebx)", "r3=4136; r4=ctx[40]; r3+=r4; r3<<=32; r3>>=32; read 4"},
		{"amd64", elf.EM_386, elf.ELFCLASS32, shared, "4@sym@GOTOFF(%eax,%edx,4)", "r3=4096; r4=ctx[80]; r3+=r4; r4=ctx[96]; r4<<=2; r3+=r4; r3<<=32; r3>>=32; read 4"},
		{"amd64", elf.EM_X86_64, elf.ELFCLASS64, shared, "8@imported@GOTPCREL(%rip)", "r3=14336; r4=ctx[128]; r3+=r4; read 8"},
		{"amd64", elf.EM_386, elf.ELFCLASS32, shared, "4@sym@GOT(%ebx)", "r3=16384; r4=ctx[128]; r3+=r4; r3<<=32; r3>>=32"},
		{"arm64", elf.EM_AARCH64, elf.ELFCLASS64, shared, "8@[x0, x1, lsl 3]", "r3=0; r4=ctx[0]; r3+=r4; r4=ctx[8]; r4<<=3; r3+=r4; read 8"},
		{"arm64", elf.EM_AARCH64, elf.ELFCLASS64, shared, "4@[x0, w1, uxtw #2]", "r3=0; r4=ctx[0]; r3+=r4; r4=ctx[8]; r4<<=32; r4>>=32; r4<<=2; r3+=r4; read 4"},
		{"arm64", elf.EM_AARCH64, elf.ELFCLASS64, shared, "8@[x0, #:lo12:sym+8]", "r3=131; r4=ctx[0]; r3+=r4; read 8"},
		{"arm64", elf.EM_AARCH64, elf.ELFCLASS64, shared, "8@#:lo12:sym", "r3=123"},
		{"arm64", elf.EM_AARCH64, elf.ELFCLASS64, shared, "8@[x0, #:lo12:none]", "symbol not found"},
		{"arm64", elf.EM_AARCH64, elf.ELFCLASS64, shared, "8@:lo12:sym", "the memory is at a fixed address, and the object has none"},
		{"arm64", elf.EM_AARCH64, elf.ELFCLASS64, shared, "2@[x29, -24]", "r3=-24; r4=ctx[232]; r3+=r4; read 2"},
		{"arm64", elf.EM_AARCH64, elf.ELFCLASS64, shared, "-4@-1", "r3=-1"},
		{"arm64", elf.EM_AARCH64, elf.ELFCLASS64, shared, "8f@x4", "r3=ctx[32]"},
		{"arm64", elf.EM_AARCH64, elf.ELFCLASS64, shared, "4@w3", "r3=ctx[24]"},
		{"arm64", elf.EM_AARCH64, elf.ELFCLASS64, shared, "-4@x1", "r3=ctx[8]"},
		{"arm64", elf.EM_AARCH64, elf.ELFCLASS64, shared, "8@xzr", "r3=0"},
		{"arm64", elf.EM_AARCH64, elf.ELFCLASS64, shared, "-4@[sp, 60]", "r3=60; r4=ctx[248]; r3+=r4; read 4"},
		{"arm64", elf.EM_AARCH64, elf.ELFCLASS64, shared, "1@[x2, x1]", "r3=0; r4=ctx[16]; r3+=r4; r4=ctx[8]; r3+=r4; read 1"},
		{"arm64", elf.EM_AARCH64, elf.ELFCLASS64, shared, "8@[x0, w1, sxtw #3]", "r3=0; r4=ctx[0]; r3+=r4; r4=ctx[8]; r4<<=32; r4s>>=32; r4<<=3; r3+=r4; read 8"},
		{"amd64", elf.EM_AARCH64, elf.ELFCLASS64, shared, "8@x0", "a program for EM_AARCH64 does not run on amd64"},
	} {
		got, err := func() (string, error) {
			regs, err := operand.RegistersOf(test.goarch, test.machine, test.class)
			if err != nil {
				return "", err
			}
			args := notes.ParseArgs(notes.Machine(test.machine), notes.Class(test.class), test.arg)
			if len(args) != 1 {
				return "", fmt.Errorf("%d arguments", len(args))
			}
			op, err := operand.Compile(args[0], regs, test.machine, test.class, test.obj, site, 0)
			if err != nil {
				return "", err
			}
			return show(&op), nil
		}()
		if err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s: %q\ngot  %s\nwant %s", test.machine, test.arg, got, test.want)
		}
	}
}

// show writes down the instructions for an operand.
func show(op *operand.Operand) string {
	ins, read := op.Load(3, regContext), ""
	if op.Kind == operand.Memory {
		ins, read = op.LoadAddress(3, regContext), fmt.Sprintf("; read %d", op.Size)
	}
	var out []string
	for _, in := range ins {
		dst, src := strings.ToLower(in.Dst.String()), strings.ToLower(in.Src.String())
		class := in.OpCode.Class()
		switch {
		case class.IsLoad() && in.Src == regContext:
			out = append(out, fmt.Sprintf("%s=ctx[%d]", dst, in.Offset))
		case class.IsLoad():
			out = append(out, fmt.Sprintf("%s=%d", dst, in.Constant))
		default:
			sign := map[string]string{"Mov": "=", "Add": "+=", "Or": "|=", "LSh": "<<=", "RSh": ">>=", "ArSh": "s>>="}[in.OpCode.ALUOp().String()]
			if strings.HasSuffix(in.OpCode.String(), "Reg") {
				out = append(out, dst+sign+src)
			} else {
				out = append(out, fmt.Sprintf("%s%s%d", dst, sign, in.Constant))
			}
		}
	}
	return strings.Join(out, "; ") + read
}

// TestSavedFits checks that what trampolines save has a place of its own on the stack, below an
// aggregate's keys.
func TestSavedFits(t *testing.T) {
	const keys = 128 // see query.Signature.NeedsScratch
	if end := operand.SavedAt + operand.SavedSize; end > stackGroup-keys {
		t.Errorf("the words end at %d, and keys begin at %d", end, stackGroup-keys)
	}
}
