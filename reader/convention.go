package reader

import (
	"debug/elf"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-usdt/usdt/internal/pcln"
	"github.com/go-usdt/usdt/notes"
)

// Convention says where a function finds its arguments.
type Convention uint8

const (
	// CConvention is the platform's ABI, as C uses it.
	CConvention Convention = iota
	// GoRegisters is Go's ABIInternal (cmd/compile/abi-internal.md), from Go 1.18 on.
	GoRegisters
	// GoStack is Go's ABI0, which functions in assembly and older versions use.
	GoStack
	// GoUnknown is for a program whose version of Go is not known.
	GoUnknown
)

// IsGo reports whether the function runs on the stack of a goroutine, which moves
// when it grows.
func (c Convention) IsGo() bool { return c != CConvention }

// callRegisters are the registers that hold arguments, as notes write them, and the
// offset from the stack pointer, at the entry, of the first argument that is not in
// one.
type callRegisters struct {
	arguments []string
	stack     int
}

var (
	// System V ABI, AMD64 supplement, 3.2.3; the stack begins with the return address.
	amd64C  = callRegisters{[]string{"%rdi", "%rsi", "%rdx", "%rcx", "%r8", "%r9"}, 8}
	amd64Go = callRegisters{[]string{"%rax", "%rbx", "%rcx", "%rdi", "%rsi", "%r8", "%r9", "%r10", "%r11"}, 8}
	// System V ABI, Intel386 supplement, 2.2.3.
	i386C = callRegisters{nil, 4}
	// Procedure Call Standard for the Arm 64-bit Architecture, 6.8.
	arm64C = callRegisters{numbered("x", 8), 0}
	// Go's arm64 frames begin with the saved link register.
	arm64Go = callRegisters{numbered("x", 16), 8}
)

func numbered(prefix string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = prefix + strconv.Itoa(i)
	}
	return out
}

// maxArgument is a number of arguments that no function has.
const maxArgument = 64

// Argument returns where word i of the arguments is at the function's entry. A value
// that a language passes in two registers, such as a Go string, is two words. Words
// are signed, unless they have 32 bits. Floating-point arguments are not counted;
// they travel in registers of their own.
func (fn *Function) Argument(i int) (notes.Arg, error) {
	if fn.file == nil {
		return notes.Arg{}, errNoFile
	}
	if i < 0 || i >= maxArgument {
		return notes.Arg{}, fmt.Errorf("argument %d is not between 0 and %d", i, maxArgument-1)
	}
	e := fn.file.elf
	arg := callArgument(e.Machine, e.Class, fn.Convention, i)
	if arg == "" {
		return notes.Arg{}, fn.unknown()
	}
	return notes.ParseArgs(notes.Machine(e.Machine), notes.Class(e.Class), arg)[0], nil
}

// call says, in the syntax of notes, where functions of one convention have their
// arguments and results.
type call struct{ entry, result string }

// i386Arguments is the number of arguments that functions without register arguments
// are assumed to have.
const i386Arguments = 4

func newCall(m elf.Machine, c elf.Class, conv Convention) call {
	regs, ok := registersOf(m, c, conv)
	if !ok {
		return call{}
	}
	n := len(regs.arguments)
	if n == 0 {
		n = i386Arguments
	}
	var args []string
	for i := range n {
		args = append(args, callArgument(m, c, conv, i))
	}
	out := call{entry: strings.Join(args, " ")}
	switch {
	case conv == GoStack: // results are on the stack, behind arguments of unknown size
	case m == elf.EM_386:
		out.result = "-4@%eax"
	case m == elf.EM_AARCH64:
		out.result = "-8@x0"
	default:
		out.result = "-8@%rax"
	}
	return out
}

// callArgument returns where argument i is, or "" if that is not known.
func callArgument(m elf.Machine, c elf.Class, conv Convention, i int) string {
	regs, ok := registersOf(m, c, conv)
	behind := i - len(regs.arguments)
	switch {
	case !ok:
		return ""
	case m == elf.EM_386:
		return fmt.Sprintf("4@%d(%%esp)", regs.stack+4*i)
	case behind < 0:
		return "-8@" + regs.arguments[i]
	case m == elf.EM_AARCH64:
		return fmt.Sprintf("-8@[sp, %d]", regs.stack+8*behind)
	}
	return fmt.Sprintf("-8@%d(%%rsp)", regs.stack+8*behind)
}

func registersOf(m elf.Machine, c elf.Class, conv Convention) (callRegisters, bool) {
	var of [GoStack + 1]callRegisters
	switch {
	case m == elf.EM_X86_64 && c == elf.ELFCLASS64:
		of = [...]callRegisters{CConvention: amd64C, GoRegisters: amd64Go, GoStack: {nil, amd64Go.stack}}
	case m == elf.EM_386:
		of = [...]callRegisters{CConvention: i386C, GoRegisters: i386C, GoStack: i386C}
	case m == elf.EM_AARCH64 && c == elf.ELFCLASS64:
		of = [...]callRegisters{CConvention: arm64C, GoRegisters: arm64Go, GoStack: {nil, arm64Go.stack}}
	default:
		return callRegisters{}, false
	}
	if conv > GoStack {
		return callRegisters{}, false
	}
	return of[conv], true
}

// Result returns where the function's result is after its return: in one signed word.
// Floating-point results are in registers of their own.
func (fn *Function) Result() (notes.Arg, error) {
	if fn.file == nil {
		return notes.Arg{}, errNoFile
	}
	e := fn.file.elf
	switch result := fn.file.calls[fn.Convention]().result; {
	case result != "":
		return notes.ParseArgs(notes.Machine(e.Machine), notes.Class(e.Class), result)[0], nil
	case fn.Convention == GoStack:
		return notes.Arg{}, errors.New("the function has its results on the stack, at an unknown address")
	}
	return notes.Arg{}, fn.unknown()
}

// unknown returns the error for arguments and results that are nobody knows where.
func (fn *Function) unknown() error {
	if fn.Convention == GoUnknown {
		return fmt.Errorf("the table of Go's functions is %w: where functions have their arguments is not known", pcln.ErrFormat)
	}
	return fmt.Errorf("the calling convention of %v is not known", fn.file.elf.Machine)
}
