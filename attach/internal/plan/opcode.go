package plan

import "errors"

// Why the kernel refuses instructions: arch/x86/kernel/uprobes.c, is_prefix_bad
// and good_insns_64. It looks up the opcodes of vector instructions in the table
// of one-byte opcodes, so that it takes a vmovd for port output.
var (
	errPrefix = errors.New("the kernel cannot probe an instruction with a lock or segment prefix")
	errVector = errors.New("the kernel cannot probe this vector instruction")
)

// maxInstruction is the size in bytes of the longest x86 instruction.
const maxInstruction = 15

// opcode notes the opcode of the instruction at the site, and refuses instructions
// that the kernel would refuse: the kernel does not say so while no process runs
// the file.
func (pl *Planner) opcode(s *site) {
	code := s.object.BytesAt(s.Offset, maxInstruction)
	if !s.isX86() || isNop(code) {
		return
	}
	is64 := s.isX86_64()
	i := 0
	for i < len(code) && isPrefix(code[i]) && (is64 || code[i]&0xf0 != 0x40) {
		i++
	}
	if i == len(code) {
		return
	}
	size := 1
	switch c := code[i]; {
	case c == 0x26 || c == 0x2e || c == 0x36 || c == 0x3e || c == 0xf0: // %es, %cs, %ss, %ds, lock
		s.Reason = errPrefix
		return
	case c == 0x0f:
		size = 2
	case is64 && c == 0xc5: // VEX
		size = 3
	case is64 && c == 0xc4:
		size = 4
	case is64 && c == 0x62: // EVEX
		size = 5
	}
	if len(code) < i+size {
		return
	}
	s.Opcode = string(code[:i+size])
	if size > 2 && pl.refuses(s.Opcode, code) {
		s.Reason = errVector
	}
}

// refuses reports whether the kernel refuses the instruction with which code
// begins. It asks once for each opcode.
func (pl *Planner) refuses(opcode string, code []byte) bool {
	answer, known := pl.refused[opcode]
	if !known {
		answer = pl.try(code)
		if pl.refused == nil {
			pl.refused = map[string]bool{}
		}
		pl.refused[opcode] = answer
	}
	return answer
}

// isPrefix reports whether c comes before the opcode of a 64-bit instruction
// that can be probed.
func isPrefix(c byte) bool {
	switch c {
	case 0x64, 0x65, 0x66, 0x67, 0xf2, 0xf3: // %fs, %gs, sizes, repetition
		return true
	}
	return c&0xf0 == 0x40 // REX
}
