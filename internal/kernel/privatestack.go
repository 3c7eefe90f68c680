package kernel

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
)

// minPrivateStack is how many bytes of stack a function of a BPF program must use
// for the kernel to give it a private stack, kernel/bpf/verifier.c:
// BPF_PRIV_STACK_MIN_SIZE.
const minPrivateStack = 64

// privateStacks is the feature that the kernel gives programs a stack for each
// CPU in place of the task's own: x86-64 from Linux 6.13, arm64 from 6.17. A
// program on a uprobe may be preempted, or sleep, and another task that then runs
// it on that CPU writes to the same stack.
//
// Two functions, one called by the other, have 512 bytes of stack together, and
// 512 each if they are private.
var privateStacks = Feature{Test: func() error {
	const callee = "callee"
	const size = 400
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Type: ebpf.Kprobe,
		Instructions: asm.Instructions{
			asm.StoreImm(asm.R10, -size, 0, asm.Word),
			asm.Call.Label(callee),
			asm.Mov.Imm(asm.R0, 0),
			asm.Return(),
			asm.StoreImm(asm.R10, -size, 0, asm.Word).WithSymbol(callee),
			asm.Mov.Imm(asm.R0, 0),
			asm.Return(),
		},
		License: License,
	})
	if err == nil {
		return prog.Close()
	}
	if CombinedStack(err) {
		return ebpf.ErrNotSupported
	}
	return err
}}

// CombinedStack reports whether the verifier refused a program for the stack of
// functions that call each other.
func CombinedStack(err error) bool {
	var verifier *ebpf.VerifierError
	return errors.As(err, &verifier) && slices.ContainsFunc(verifier.Log, func(line string) bool {
		return strings.Contains(line, "combined stack size")
	})
}

// StayOnTaskStack changes a program that the kernel would give a private stack,
// and reports whether it did. It puts a tail call in front that is never made,
// since programs with tail calls have no private stack. The verifier removes the
// call, so that it costs nothing when the program runs.
func StayOnTaskStack(spec *ebpf.ProgramSpec) bool {
	if !largeStack(spec.Instructions) || errors.Is(privateStacks.Require(), ebpf.ErrNotSupported) {
		return false
	}
	spec.Instructions = withDeadTailCall(spec.Instructions)
	return true
}

// withDeadTailCall returns the instructions with a tail call in front that is
// jumped over.
func withDeadTailCall(old asm.Instructions) asm.Instructions {
	return InFront(asm.Instructions{asm.Mov.Imm(asm.R0, 0), Over(asm.JEq.Imm(asm.R0, 0, ""), 1), asm.FnTailCall.Call()}, old)
}

// largeStack reports whether a function of the program may use enough stack for
// it to be private, and none has a tail call.
func largeStack(code asm.Instructions) bool {
	large := false
	for i := range code {
		in := &code[i]
		if in.IsBuiltinCall() && asm.BuiltinFunc(in.Constant) == asm.FnTailCall {
			return false
		}
		large = large || stackDepth(code[i:]) >= minPrivateStack
	}
	return large
}

// stackDepth returns how far below the frame pointer the first instruction
// reaches: it loads or stores there, or takes the address, to which compilers
// soon add a constant. An address to which they add none, or first a variable,
// may be anywhere.
func stackDepth(code asm.Instructions) int64 {
	const anywhere = 1 << 10
	in := &code[0]
	switch class := in.OpCode.Class(); {
	case class == asm.StXClass && in.Src == asm.RFP:
		return anywhere // a copy in memory is not followed
	case class.IsLoad() && in.Src == asm.RFP, class.IsStore() && in.Dst == asm.RFP:
		return -int64(in.Offset)
	case class.IsALU() && in.Src == asm.RFP && in.OpCode.Source() == asm.RegSource:
		if in.OpCode.ALUOp() != asm.Mov {
			return anywhere
		}
		for i := range code[1:] {
			next := &code[1+i]
			if next.Dst != in.Dst && next.Src != in.Dst {
				continue
			}
			if next.OpCode.Class().IsALU() && next.OpCode.ALUOp() == asm.Add && next.OpCode.Source() == asm.ImmSource && next.Dst == in.Dst {
				return -next.Constant
			}
			return anywhere
		}
		return anywhere
	}
	return 0
}

// PrivateStackNote returns the remark on a site whose program was changed.
func PrivateStackNote(program string) string {
	return fmt.Sprintf("program %s begins with a tail call that is never made: without the call this kernel gives the program a stack per CPU, on which concurrent events overwrite each other (Options.PrivateStack leaves the call out)", program)
}

// PrivateStackOf returns a remark on a program that is in the kernel already,
// empty if no private stack was detected.
func PrivateStackOf(prog *ebpf.Program) string {
	if privateStacks.Require() != nil {
		return ""
	}
	const advice = "this kernel gives the program a stack per CPU%s, on which concurrent events overwrite each other; a tail call in the program, made or not, keeps it on the task's stack"
	info, err := prog.Info()
	if err != nil {
		return ""
	}
	if code, ok := info.JitedInsns(); ok && runtime.GOARCH == "amd64" {
		if bytes.Contains(code, privateFramePointer) {
			return fmt.Sprintf(advice, "")
		}
		return ""
	}
	// The kernel has removed tail calls that are never made.
	if code, err := info.Instructions(); err == nil && largeStack(code) {
		return fmt.Sprintf(advice, " unless it has had a tail call")
	}
	return ""
}

// privateFramePointer is add %gs:this_cpu_off,%r9 without the address: r9 is
// the frame pointer of a function with a private stack, and nothing else
// (arch/x86/net/bpf_jit_comp.c: emit_private_frame_ptr).
var privateFramePointer = []byte{0x65, 0x4c, 0x03, 0x0c, 0x25}
