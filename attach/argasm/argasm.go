// Package argasm writes the instructions by which BPF programs read the arguments of probes, for
// programs that are made in Go with package asm of cilium/ebpf, and attached by
// attach.AttachProbes.
//
// Programs that are compiled from C have bpf_usdt_arg, see package attach/collection. A Go
// program that only wants events, counts or latencies needs neither: package attach has its own
// programs.
package argasm

import (
	"debug/elf"
	"fmt"

	"github.com/cilium/ebpf/asm"

	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// Reader says what instructions may use. The zero value is ready.
type Reader struct {
	// Context is the register from R6 to R9 that has the program's context, which a program gets
	// in R1. R0 stands for R6.
	Context asm.Register
	// Stack is where the instructions may overwrite 8 bytes, relative to R10; 0 stands for -8.
	Stack int16
	// Sleepable says that the program may sleep (unix.BPF_F_SLEEPABLE): it also reads memory that
	// is not there yet, such as a page of a file that the process has not touched.
	Sleepable bool
	// Failed is the label of the instruction to go on with if the memory that has an argument
	// cannot be read. If it is empty, the argument is 0 then.
	Failed string
}

// Arg returns the instructions that put argument i of a probe, counted from 0, into R0, extended to
// 64 bits as its type says; of a floating-point number its bits. They change R1 to R5. A pointer
// to text is a number, for bpf_probe_read_user_str.
//
// The error says why the argument cannot be read by a BPF program on this host. Arg opens the file
// of the probe if the argument has a symbol or a fixed address.
func (r Reader) Arg(p *reader.Probe, i int) (asm.Instructions, error) {
	args := p.Arguments()
	if i < 0 || i >= len(args) {
		return nil, fmt.Errorf("%s:%s has no argument %d: it has %d", p.Provider, p.Name, i, len(args))
	}
	op, err := compile(p, &args[i])
	if err != nil {
		return nil, fmt.Errorf("argument %d of %s:%s (%s): %w", i, p.Provider, p.Name, args[i].Text, err)
	}
	context, stack := r.Context, r.Stack
	if context == asm.R0 {
		context = asm.R6
	}
	if stack == 0 {
		stack = -8
	}
	if op.Kind != operand.Memory {
		return append(op.Load(asm.R0, context), operand.Extend(asm.R0, op.Size, args[i].Signed)...), nil
	}
	copies := asm.FnProbeReadUser // both clear what they cannot read
	if r.Sleepable {
		copies = asm.FnCopyFromUser
	}
	ins := asm.Instructions{asm.Mov.Imm(asm.R1, 0), asm.StoreMem(asm.R10, stack, asm.R1, asm.DWord)}
	ins = append(ins, op.LoadAddress(asm.R3, context)...)
	ins = append(ins,
		asm.Mov.Imm(asm.R2, int32(op.Size)),
		asm.Mov.Reg(asm.R1, asm.R10), asm.Add.Imm(asm.R1, int32(stack)),
		copies.Call(),
	)
	if r.Failed != "" {
		ins = append(ins, asm.JNE.Imm(asm.R0, 0, r.Failed))
	}
	ins = append(ins, asm.LoadMem(asm.R0, asm.R10, stack, asm.DWord))
	return append(ins, operand.Extend(asm.R0, op.Size, args[i].Signed)...), nil
}

func compile(p *reader.Probe, a *notes.Arg) (operand.Operand, error) {
	regs, err := operand.HostRegisters(p.Machine, p.Class)
	if err != nil {
		return operand.Operand{}, err
	}
	var obj *operand.Object
	if a.Symbol != "" || a.Kind == notes.Mem && a.Base == "" && a.Segment == "" {
		if obj, err = operand.OpenObject(p.Attachable()); err != nil {
			return operand.Operand{}, err
		}
		defer obj.Close()
	}
	return operand.Compile(*a, regs, p.Machine, p.Class, obj, p.Location+p.Delta, 0)
}

// Register returns the instructions that put a register of the traced program into dst, by its name
// as the machine's manual has it (rdi, ah, x0): its bytes, with zeros above them. context is the register that
// has the program's context. Registers are where struct pt_regs of this host has them, also of a
// 32-bit program.
func Register(dst, context asm.Register, m elf.Machine, c elf.Class, name string) (asm.Instructions, error) {
	regs, err := operand.HostRegisters(m, c)
	if err != nil {
		return nil, err
	}
	at, err := regs.Locate(m, c, name)
	if err != nil {
		return nil, err
	}
	return append(at.Load(dst, context), operand.Extend(dst, at.Size, false)...), nil
}
