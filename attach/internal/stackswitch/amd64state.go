package stackswitch

import "golang.org/x/arch/x86/x86asm"

// Numbers of registers.
const (
	rax = iota
	rcx
	rdx
	rbx
	rsp
	rbp
	rsi
	rdi
	r8
	r9
	none = -1
)

// number returns the number of a whole register, none if it is something else.
func number(a x86asm.Arg) int {
	r, ok := a.(x86asm.Reg)
	switch {
	case ok && r >= x86asm.RAX && r <= x86asm.R15:
		return int(r - x86asm.RAX)
	case ok && r >= x86asm.EAX && r <= x86asm.R15L:
		return int(r - x86asm.EAX)
	}
	return none
}

// base returns the base register of an operand in memory, none if it has none.
func base(a x86asm.Arg) int {
	if m, ok := a.(x86asm.Mem); ok && m.Base != 0 {
		return number(m.Base)
	}
	return none
}

func isMemory(a x86asm.Arg) bool {
	_, ok := a.(x86asm.Mem)
	return ok
}

func reads(a x86asm.Arg) bool { return number(a) != none || isMemory(a) }

// amd64State is what is known at an instruction of x86.
type amd64State struct {
	state
	pushed     bool // the last instruction has pushed another value
	movedFrame bool // the last instruction has added to the frame pointer
	loaded     int  // instructions since %rbp was loaded with what is no address of the stack; 0 if it was not
}

// framed reports whether %rbp may be the frame pointer: compilers use it for anything else also,
// and have loaded it with that not long before then.
func (s *amd64State) framed() bool { return s.loaded == 0 || s.loaded > closely }

// onStack reports whether memory is that of the stack.
func (s *amd64State) onStack(a x86asm.Arg) bool {
	b := base(a)
	return b == rsp || b == rbp && s.framed() || s.addresses.has(b)
}

// isAddress reports whether an operand is an address in the stack's memory.
func (s *amd64State) isAddress(a x86asm.Arg) bool {
	n := number(a)
	return n == rsp || s.addresses.has(n)
}

// switches reports whether an instruction loads the stack pointer with what does not come
// from the stack.
func (s *amd64State) switches(in *x86asm.Inst) bool {
	to, from := in.Args[0], in.Args[1]
	switch in.Op {
	case x86asm.POP:
		return number(to) == rsp && s.pushed
	case x86asm.XCHG:
		if number(from) == rsp {
			to, from = from, to
		}
	case x86asm.LEA:
		b := base(from)
		return number(to) == rsp && b != none && b != rbp && !s.onStack(from) && !s.slots.has(b)
	case x86asm.ADD:
		return number(to) == rsp && number(from) != none
	case x86asm.MOV:
	default:
		return false
	}
	if number(to) != rsp {
		return false
	}
	if isMemory(from) {
		return !s.onStack(from)
	}
	n := number(from)
	return n != none && n != rsp && n != rbp && (s.written | arguments).has(n) && !s.addresses.has(n) && !s.slots.has(n)
}

// arguments are registers that have arguments at the beginning of a function.
const arguments registers = 1<<rdi | 1<<rsi | 1<<rdx | 1<<rcx | 1<<r8 | 1<<r9

// step takes note of an instruction.
func (s *amd64State) step(in *x86asm.Inst) {
	if s.stored > 0 {
		s.stored++
	}
	if s.loaded > 0 {
		s.loaded++
	}
	to, from := in.Args[0], in.Args[1]
	n := number(to)
	s.movedFrame = in.Op == x86asm.ADD && n == rbp && reads(from)
	s.pushed = in.Op == x86asm.PUSH && (n != none && n != rbp && !s.isAddress(to) || isMemory(to) && !s.onStack(to))
	switch in.Op {
	case x86asm.RET, x86asm.UD2, x86asm.HLT, x86asm.INT:
		s.returned()
		s.loaded = 0
	case x86asm.JMP:
		s.jumped()
	case x86asm.CALL:
		s.write(rax, false, false)
	case x86asm.MOV:
		switch {
		case isMemory(to):
			if s.isAddress(from) && !s.onStack(to) {
				s.saved = true
				if number(from) == rsp {
					s.stored = 1
				}
			}
		case n == rsp:
		default:
			s.saved = s.saved || number(from) == rsp && n != rbp && n != none
			slot := isMemory(from) && s.onStack(from) || s.slots.has(number(from))
			s.write(n, s.isAddress(from), slot)
			if n == rbp {
				s.loaded = 0
				if !s.isAddress(from) && !slot {
					s.loaded = 1
				}
			}
		}
	case x86asm.LEA:
		s.write(n, s.onStack(from), false)
	case x86asm.POP:
		s.write(n, false, true)
	case x86asm.XCHG:
		other := number(from)
		if n == rsp || other == rsp || n == none || other == none {
			break
		}
		a, b := s.addresses.has(n), s.addresses.has(other)
		s.write(n, b, false)
		s.write(other, a, false)
	case x86asm.PUSH, x86asm.CMP, x86asm.TEST, x86asm.ADD, x86asm.SUB, x86asm.AND:
	default:
		s.write(n, false, false)
	}
}
