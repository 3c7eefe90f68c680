package stackswitch

import (
	"golang.org/x/arch/x86/x86asm"

	"github.com/go-usdt/usdt/internal/x86"
)

var amd64 = machine{mayBe: amd64MayBe, at: amd64At, step: 1}

// amd64MayBe reports whether the bytes at i are an instruction that loads the stack pointer,
// if one begins there.
func amd64MayBe(c *code, i int) bool {
	b := c.bytes[i:]
	if c.mode == 64 {
		if len(b) > 2 && b[0] == 0x5c { // pop %rsp, behind a push
			return i > 0 && c.bytes[i-1]&0xf8 == 0x50 && c.bytes[i-1] != 0x54
		}
		if len(b) < 4 || b[0]&0xf8 != 0x48 {
			return false
		}
		rex := b[0]
		b = b[1:]
		if b[0] == 0x94 { // xchg %rax,%rsp
			return rex&1 == 0
		}
		toReg, toRM := rex&4 == 0 && b[1]&0x38 == 0x20, rex&1 == 0 && b[1]&0xc7 == 0xc4
		return loads(b[0], toReg, toRM)
	}
	if len(b) < 3 {
		return false
	}
	return b[0] == 0x94 || loads(b[0], b[1]&0x38 == 0x20, b[1]&0xc7 == 0xc4)
}

// loads reports whether an opcode writes the stack pointer. toReg and toRM say whether
// that is the register of ModRM.reg, or of ModRM.rm.
func loads(opcode byte, toReg, toRM bool) bool {
	switch opcode {
	case 0x8b, 0x8d, 0x03: // mov, lea, add
		return toReg
	case 0x89, 0x01: // mov, add
		return toRM
	case 0x87: // xchg
		return toReg || toRM
	}
	return false
}

// starts is from how many bytes before an instruction the code is read, to know whether it
// is one: most of these ways end at the same instructions.
const starts, nearest = 16, 64

// amd64At reports whether the instruction at i switches stacks.
func amd64At(c *code, from, i int) bool {
	in, size := decode(c, i)
	if size == 0 {
		return false
	}
	arrived := 0
	for begin := i - nearest - starts; begin < i-nearest; begin++ {
		at := max(begin, from)
		for at < i {
			_, n := decode(c, at)
			at += max(n, 1)
		}
		if at == i {
			arrived++
		}
	}
	if 2*arrived < starts {
		return false
	}
	s := amd64State{state: state{sp: rsp, whole: c.whole}}
	for at := from; at < i; {
		in, n := decode(c, at)
		if at+n > i {
			n = 0 // it was read from within an instruction
		}
		if n > 0 {
			s.step(&in)
		}
		at += max(n, 1)
	}
	if !s.switches(&in) {
		return false
	}
	if in.Op == x86asm.ADD {
		next, n := decode(c, i+size)
		moved := func(in *x86asm.Inst) bool {
			return in.Op == x86asm.ADD && number(in.Args[0]) == rbp && reads(in.Args[1])
		}
		return s.saved && (n > 0 && moved(&next) || s.movedFrame)
	}
	return s.stored > 0 && s.stored <= closely || (s.saved || in.Op == x86asm.XCHG && keeps(c, i+size, &in)) && returns(c, i+size, s.framed())
}

// keeps reports whether the code behind an exchange stores the old stack pointer, unless the
// exchange has.
func keeps(c *code, i int, exchange *x86asm.Inst) bool {
	to, from := exchange.Args[0], exchange.Args[1]
	if isMemory(to) || isMemory(from) {
		return true
	}
	old := number(to) + number(from) - rsp
	for range soon {
		in, size := decode(c, i)
		if in.Op == x86asm.MOV && isMemory(in.Args[0]) && number(in.Args[1]) == old {
			return true
		}
		i += max(size, 1)
		if i >= len(c.bytes) {
			break
		}
	}
	return false
}

// closely is within how many instructions nobody stores the stack pointer and loads another
// one except for a switch.
const closely = 24

const (
	goOn = 48 // instructions behind one that loads the stack pointer
	soon = 8  // of these, those among which a call is one on the other stack
)

// returns reports whether the code at i goes on at the other stack: it returns or jumps
// there, and does not reset the stack pointer from the frame pointer before, if there is one.
func returns(c *code, i int, framed bool) bool {
	unknown := 0
	for n := 0; n < goOn && i >= 0 && i < len(c.bytes); n++ {
		in, size := decode(c, i)
		if size == 0 {
			if unknown++; unknown > soon {
				return false
			}
			i++
			continue
		}
		i += size
		switch in.Op {
		case x86asm.RET:
			return true
		case x86asm.JMP:
			rel, direct := in.Args[0].(x86asm.Rel)
			if !direct {
				return true
			}
			i += int(rel)
		case x86asm.CALL:
			if _, direct := in.Args[0].(x86asm.Rel); !direct && n < soon {
				return true
			}
		case x86asm.LEAVE:
			return !framed
		case x86asm.MOV, x86asm.LEA:
			if number(in.Args[0]) == rsp && framed && (number(in.Args[1]) == rbp || base(in.Args[1]) == rbp) {
				return false
			}
			framed = framed && number(in.Args[0]) != rbp
		case x86asm.POP, x86asm.ADD:
			framed = framed && number(in.Args[0]) != rbp
		case x86asm.UD2, x86asm.HLT, x86asm.INT:
			return false
		}
	}
	return false
}

// decode decodes the instruction at i; its size is 0 if it is not known. An instruction of
// which nothing but the size is known has no Op.
func decode(c *code, i int) (in x86asm.Inst, size int) {
	defer func() {
		if recover() != nil { // a disassembler's tables may have holes
			in, size = x86asm.Inst{}, 0
		}
	}()
	b := c.bytes[i:]
	b = b[:min(len(b), 15)]
	if in, err := x86asm.Decode(b, c.mode); err == nil && in.Op != 0 && !x86.IsVector(b, c.mode == 64) {
		return in, in.Len
	}
	return x86asm.Inst{}, x86.Size(b, c.mode == 64)
}
