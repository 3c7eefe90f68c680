package plan

import (
	"fmt"
	"strings"
)

// misjudged refuses instructions that Linux executes wrongly under a uprobe. The kernel
// emulates some, and executes a copy of all others elsewhere, step by step; which of
// both, and what to mend afterwards, it decides by the opcode, whatever prefix gives
// that byte another meaning (arch/x86/kernel/uprobes.c: branch_setup_xol_ops,
// arch_uprobe_analyze_insn, riprel_analyze).
func (in *instruction) misjudged() string {
	c := in.opcode()
	modRM, reg := in.modRM()
	memory := modRM < 0xc0
	switch {
	case in.displaced:
		return "the kernel misses a REX prefix that is not directly before the opcode"
	case in.distinct() > 4:
		return "the kernel takes the fifth prefix for the opcode"
	case in.encoding == xop, in.encoding == rex2, in.encoding == evex && in.space == 4:
		return "the kernel does not know the registers of XOP and APX instructions"
	case in.encoding == vex || in.encoding == evex:
		if as := takenFor(c); as != "" {
			return fmt.Sprintf("the kernel takes this vector instruction (opcode %02x) for a %s", c, as)
		}
	case in.encoding == twoByte:
		switch {
		case modRM&0xc7 == 5 && in.hidden():
			return "the kernel misses the operand of an instruction whose 66, f2 or f3 is not its last prefix"
		case modRM&0xc7 == 5 && (in.has(0xf2) && !known(c, afterF2) || in.has(0xf3) && !known(c, afterF3)):
			return "the kernel misses the operand of an instruction that it does not know behind a repetition prefix"
		case c == 0x05, c == 0x34:
			return "a system call would return to the kernel's copy of the instruction"
		case c == 0x00 && reg <= 1, c == 0x01 && memory && (reg <= 1 || reg == 4), c == 0x01 && reg == 4:
			return "the kernel emulates the instruction (UMIP), and would execute the next one twice"
		}
	case c == 0x90 && in.rex&1 != 0:
		return "the kernel takes this exchange of registers for a nop"
	case c&0xfc == 0xe0 && in.has(0x66):
		return "a 16-bit loop would go on from the kernel's copy of the instruction"
	case c == 0x9c:
		return "pushf would store the trap flag with which the kernel executes it"
	case c == 0xff && reg == 3:
		return "the kernel does not mend the return address of a far call"
	case c == 0xff && reg == 2 && in.has(0x66):
		return "the kernel does not mend the return address of a 16-bit call"
	case in.has(0xf2) || in.has(0xf3):
		switch c {
		case 0x6c, 0x6d, 0x6e, 0x6f, 0xa4, 0xa5, 0xa6, 0xa7, 0xaa, 0xab, 0xac, 0xad, 0xae, 0xaf:
			return "the probe would fire at each repetition of the instruction"
		}
	}
	return ""
}

// Opcodes behind 0f that the kernel's decoder knows with these prefixes, as other
// instructions than without, in arch/x86/lib/x86-opcode-map.txt. AMD has more: movntss.
const (
	afterF2 = "\x10\x11\x12\x2a\x2c\x2d\x51\x58\x59\x5a\x5c\x5d\x5e\x5f\x70\x7c\x7d\xc2\xd0\xd6\xe6\xf0"
	afterF3 = "\x10\x11\x12\x16\x2a\x2c\x2d\x51\x52\x53\x58\x59\x5a\x5b\x5c\x5d\x5e\x5f\x6f\x70\x7e\x7f\xc2\xd6\xe6"
)

// known reports whether the decoder knows the operands of an opcode behind 0f and a prefix
// with which it knows those opcodes: it also does where the prefix has no meaning.
func known(opcode byte, with string) bool {
	switch {
	case opcode < 0x10, opcode >= 0x18 && opcode < 0x28, opcode >= 0x30 && opcode < 0x40, opcode >= 0x80 && opcode < 0x90,
		opcode >= 0xa0 && opcode < 0xc2, opcode == 0xc3, opcode >= 0xc7 && opcode < 0xd0:
		return true
	}
	return strings.IndexByte(with, opcode) >= 0
}

// takenFor returns as which instruction the kernel executes a vector instruction with
// the opcode, "" if it executes it as it is.
func takenFor(opcode byte) string {
	switch {
	case opcode&0xf0 == 0x70:
		return "conditional jump"
	case opcode == 0x90:
		return "nop"
	case opcode == 0xe8, opcode == 0x9a, opcode == 0xff:
		return "call"
	case opcode == 0xe9, opcode == 0xea, opcode == 0xeb:
		return "jump"
	case opcode == 0xc2, opcode == 0xc3, opcode == 0xca, opcode == 0xcb:
		return "return"
	case opcode == 0x9d:
		return "popf"
	}
	return ""
}
