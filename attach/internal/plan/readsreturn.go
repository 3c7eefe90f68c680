package plan

import "golang.org/x/arch/x86/x86asm"

// maxReading is how many bytes of a function are searched for a use of its return address.
const maxReading = 512

// readsReturn reports whether a function of x86, which begins with code, reads or replaces
// its return address: dlsym(RTLD_NEXT) and dlopen find by it which object calls, allocators
// and locks note it. It follows the code to the first jump that is always taken, and keeps
// count of the stack.
func readsReturn(code []byte, is64 bool) bool {
	const unknown = -1 << 40
	mode, word := 32, int64(4)
	if is64 {
		mode, word = 64, 8
	}
	// lea only computes an address, and or and add of 0 are barriers.
	// How far the return address lies above the stack pointer, and the frame pointer.
	stack, frame := int64(0), int64(unknown)
	for len(code) > 0 {
		in, err := x86asm.Decode(code, mode)
		if err != nil {
			return false
		}
		code = code[in.Len:]
		for _, a := range in.Args {
			if m, ok := a.(x86asm.Mem); ok && in.Op != x86asm.LEA && in.Op != x86asm.OR && in.Op != x86asm.ADD && m.Index == 0 && m.Segment == 0 &&
				(isStack(m.Base) && m.Disp == stack || isFrame(m.Base) && m.Disp == frame) {
				return true
			}
		}
		n, immediate := in.Args[1].(x86asm.Imm)
		to, register := in.Args[0].(x86asm.Reg)
		from, moved := in.Args[1].(x86asm.Reg)
		switch changes := register && isStack(to); {
		case in.Op == x86asm.PUSH:
			stack += word
		case in.Op == x86asm.POP && stack >= word && !changes:
			stack -= word
		case changes && in.Op == x86asm.SUB && immediate:
			stack += int64(n)
		case changes && in.Op == x86asm.ADD && immediate:
			stack -= int64(n)
		case changes && in.Op != x86asm.CMP && in.Op != x86asm.TEST, in.Op == x86asm.POP, in.Op == x86asm.LEAVE,
			in.Op == x86asm.JMP, in.Op == x86asm.RET, in.Op == x86asm.CALL && !is64, in.Op == x86asm.PUSHF, in.Op == x86asm.POPF,
			in.Op == x86asm.UD2, in.Op == x86asm.HLT, in.Op == x86asm.INT:
			return false
		case in.Op == x86asm.MOV && moved && register && isFrame(to) && isStack(from):
			frame = stack
		case register && isFrame(to) && in.Op != x86asm.CMP && in.Op != x86asm.TEST:
			frame = unknown
		}
	}
	return false
}

func isStack(r x86asm.Reg) bool { return r == x86asm.RSP || r == x86asm.ESP }
func isFrame(r x86asm.Reg) bool { return r == x86asm.RBP || r == x86asm.EBP }
