package stackswitch

import (
	"encoding/binary"

	"golang.org/x/arch/arm64/arm64asm"
)

var arm64 = machine{mayBe: arm64MayBe, at: arm64At, step: 4}

const (
	sp = 31
	fp = 29
)

// spSource returns the register with which an instruction loads the stack pointer
// (add sp, xN, #imm): none if it does not.
func spSource(word uint32) int {
	const mask, add = 0xff80001f, 0x9100001f // 64 bits, rd = sp
	if n := int(word >> 5 & 31); word&mask == add && n != sp {
		return n
	}
	return none
}

// addsToSP reports whether a register is added to the stack pointer (add sp, sp, xN).
func addsToSP(word uint32) bool { return word&0xffe0ffff == 0x8b2063ff }

// addsToFP reports whether a register is added to the frame pointer (add x29, x29, xN).
func addsToFP(word uint32) bool { return word&0xffe0ffff == 0x8b0003bd }

func (c *code) word(i int) uint32 {
	if i < 0 || i+4 > len(c.bytes) {
		return 0
	}
	return binary.LittleEndian.Uint32(c.bytes[i:])
}

func arm64MayBe(c *code, i int) bool {
	w := c.word(i)
	n := spSource(w)
	return n != none && n != fp || addsToSP(w)
}

// arm64At reports whether the instruction at i switches stacks.
func arm64At(c *code, from, i int) bool {
	w := c.word(i)
	s := state{sp: sp, whole: c.whole}
	for at := from; at < i; at += 4 {
		if in, err := arm64asm.Decode(c.bytes[at : at+4]); err == nil {
			s.arm64Step(&in)
		}
	}
	if addsToSP(w) {
		return s.saved && (addsToFP(c.word(i+4)) || addsToFP(c.word(i-4)))
	}
	const arguments = 1<<8 - 1
	return s.loads(spSource(w), arguments) && (s.stored > 0 && s.stored <= closely || s.saved && arm64Returns(c, i+4))
}

// arm64Step takes note of an instruction.
func (s *state) arm64Step(in *arm64asm.Inst) {
	if s.stored > 0 {
		s.stored++
	}
	onStack := func(a arm64asm.Arg) bool {
		b := armBase(a)
		return b == sp || b == fp || s.addresses.has(b)
	}
	to, from, by := armNumber(in.Args[0]), armNumber(in.Args[1]), armNumber(in.Args[2])
	switch in.Op {
	case arm64asm.RET, arm64asm.BRK:
		s.returned()
	case arm64asm.BR:
		s.jumped()
	case arm64asm.B:
		if in.Args[1] == nil { // not a conditional one
			s.jumped()
		}
	case arm64asm.BL, arm64asm.BLR:
		s.write(0, false, false)
	case arm64asm.STR, arm64asm.STUR:
		s.arm64Store(to, onStack(in.Args[1]))
	case arm64asm.STP:
		s.arm64Store(to, onStack(in.Args[2]))
		s.arm64Store(from, onStack(in.Args[2]))
	case arm64asm.MOV:
		s.saved = s.saved || from == sp && to != fp && to != none
		s.write(to, from == sp || from == fp || s.addresses.has(from), s.slots.has(from))
	case arm64asm.ADD, arm64asm.ADDS, arm64asm.SUB, arm64asm.SUBS, arm64asm.AND, arm64asm.ORR:
		s.write(to, from == sp || from == fp || s.addresses.has(from) || s.addresses.has(by), s.slots.has(from))
	case arm64asm.LDR, arm64asm.LDUR:
		s.write(to, false, onStack(in.Args[1]))
	case arm64asm.LDP:
		slot := onStack(in.Args[2])
		s.write(to, false, slot)
		s.write(from, false, slot)
	case arm64asm.CMP, arm64asm.CMN, arm64asm.TST, arm64asm.CBZ, arm64asm.CBNZ, arm64asm.TBZ, arm64asm.TBNZ:
	default:
		s.write(to, false, false)
	}
}

// arm64Store notes that a register is stored.
func (s *state) arm64Store(n int, onStack bool) {
	if !onStack && s.addresses.has(n) {
		s.saved, s.stored = true, 1
	}
}

// arm64Returns is returns for arm64.
func arm64Returns(c *code, i int) bool {
	framed := true
	for n := 0; n < goOn && i >= 0 && i+4 <= len(c.bytes); n, i = n+1, i+4 {
		in, err := arm64asm.Decode(c.bytes[i : i+4])
		if err != nil {
			continue
		}
		switch in.Op {
		case arm64asm.RET, arm64asm.BR:
			return true
		case arm64asm.BLR:
			if n < soon {
				return true
			}
		case arm64asm.B:
			if rel, ok := in.Args[0].(arm64asm.PCRel); ok {
				i += int(rel) - 4
			}
		case arm64asm.LDP:
			framed = framed && armNumber(in.Args[0]) != fp
		case arm64asm.MOV, arm64asm.ADD, arm64asm.SUB:
			if armNumber(in.Args[0]) == sp && armNumber(in.Args[1]) == fp && framed {
				return false
			}
			framed = framed && armNumber(in.Args[0]) != fp
		}
	}
	return false
}

// armNumber returns the number of a 64-bit register, none if it is something else.
func armNumber(a arm64asm.Arg) int {
	switch r := a.(type) {
	case arm64asm.Reg:
		if r >= arm64asm.X0 && r <= arm64asm.X30 {
			return int(r - arm64asm.X0)
		}
	case arm64asm.RegSP:
		if arm64asm.Reg(r) >= arm64asm.X0 && arm64asm.Reg(r) <= arm64asm.X30 {
			return int(arm64asm.Reg(r) - arm64asm.X0)
		}
		if arm64asm.Reg(r) == arm64asm.SP {
			return sp
		}
	}
	return none
}

// armBase returns the register by which memory is addressed.
func armBase(a arm64asm.Arg) int {
	switch m := a.(type) {
	case arm64asm.MemImmediate:
		return armNumber(m.Base)
	case arm64asm.MemExtend:
		return armNumber(m.Base)
	}
	return none
}
