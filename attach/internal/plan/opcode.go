package plan

import (
	"errors"
	"fmt"
)

// Why the kernel refuses instructions: arch/x86/kernel/uprobes.c, is_prefix_bad
// good_insns_64 and branch_setup_xol_ops. It looks up the opcodes of vector
// instructions in the table of one-byte opcodes, so that it takes a vmovd for port
// output.
var (
	errPrefix = errors.New("the kernel cannot probe an instruction with a lock or segment prefix")
	errOpcode = errors.New("the kernel cannot probe this instruction")
	errVector = errors.New("the kernel cannot probe this vector instruction")
	errStack  = errors.New("the kernel cannot probe an instruction that loads the stack segment, nor a vector instruction that it takes for one")
)

// maxInstruction is the size in bytes of the longest x86 instruction.
const maxInstruction = 15

// opcode notes the opcode of the instruction at the site. It refuses instructions that
// the kernel executes wrongly, and instructions that the kernel would refuse: the kernel does not
// say so while no process runs the file.
func (pl *Planner) opcode(s *site) {
	if !s.isX86() {
		pl.arm64(s)
		return
	}
	code := s.object.BytesAt(s.Offset, maxInstruction)
	if isNop(code) {
		return
	}
	in, ok := decode(code, s.isX86_64())
	if !ok {
		return
	}
	for _, c := range in.legacy {
		switch c {
		case 0x26, 0x2e, 0x36, 0x3e, 0xf0: // %es, %cs, %ss, %ds, lock
			s.Reason = errPrefix
			return
		}
	}
	// insn_masking_exception looks at the opcode byte of every encoding.
	if _, reg := in.modRM(); in.encoding != twoByte && in.opcode() == 0x8e && reg == 2 {
		s.Reason = errStack
		return
	}
	s.Opcode = string(code[:in.size])
	if why := in.misjudged(); why != "" {
		s.Reason = fmt.Errorf("%s: %w", why, ErrUnsafe)
		return
	}
	if !s.isX86_64() {
		if in.refused32() {
			s.Reason = errOpcode
		}
		return
	}
	if in.suspect() && pl.refuses(opcodeKey{in.opcode(), in.encoding < vex && in.has(0x66)}, code) {
		if s.Reason = errOpcode; in.encoding >= vex {
			s.Reason = errVector
		}
	}
}

// opcodeKey is what decides whether the kernel refuses an instruction: its opcode, and
// for a jump whether its operand has 16 bits.
type opcodeKey struct {
	opcode byte
	short  bool
}

// suspect reports whether some kernel refuses the instruction. To ask takes tens of
// milliseconds, so others are not asked about.
func (in *instruction) suspect() bool {
	c := in.opcode()
	switch {
	case in.encoding == twoByte:
		return c&0xf0 == 0x80 && in.has(0x66)
	case in.encoding < vex && in.has(0x66) && (c&0xf0 == 0x70 || c == 0x90 || c == 0xe8 || c == 0xe9 || c == 0xeb):
		return true
	}
	switch c {
	case 0x06, 0x07, 0x0e, 0x16, 0x17, 0x1e, 0x1f, 0x27, 0x2f, 0x37, 0x3f, 0x60, 0x61, 0x62, 0x6c, 0x6d, 0x6e, 0x6f, 0x82, 0x9a,
		0xc4, 0xc5, 0xcc, 0xcd, 0xce, 0xcf, 0xd4, 0xd5, 0xd6, 0xe4, 0xe5, 0xe6, 0xe7, 0xea, 0xec, 0xed, 0xee, 0xef, 0xf1, 0xf4, 0xfa, 0xfb:
		return true
	}
	return false
}

// refused32 reports whether the kernel refuses the instruction in programs of 32 bits
// (arch/x86/kernel/uprobes.c: good_insns_32, branch_setup_xol_ops). It cannot be asked:
// its answer is for the process that maps the instruction, which is this one.
func (in *instruction) refused32() bool {
	c := in.opcode()
	switch {
	case in.encoding == twoByte:
		return c&0xf0 == 0x80 && in.has(0x66)
	case in.encoding < vex && in.has(0x66) && (c&0xf0 == 0x70 || c == 0xe8 || c == 0xe9 || c == 0xeb):
		return true
	}
	switch c {
	case 0x07, 0x17, 0x1f, 0x6c, 0x6d, 0x6e, 0x6f, 0xcc, 0xcd, 0xce, 0xcf,
		0xe4, 0xe5, 0xe6, 0xe7, 0xec, 0xed, 0xee, 0xef, 0xf1, 0xf4, 0xfa, 0xfb:
		return true
	}
	return false
}

// refuses reports whether the kernel refuses the instruction with which code begins. It
// asks once for each key.
func (pl *Planner) refuses(key opcodeKey, code []byte) bool {
	answer, known := pl.refused[key]
	if !known {
		answer = pl.try(code)
		if pl.refused == nil {
			pl.refused = map[opcodeKey]bool{}
		}
		pl.refused[key] = answer
	}
	return answer
}
