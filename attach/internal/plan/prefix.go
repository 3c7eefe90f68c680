package plan

// instruction is what of an x86 instruction decides how the kernel executes it under
// a uprobe.
type instruction struct {
	legacy    []byte // the prefixes before the opcode, except REX
	rex       byte   // the REX prefix, 0 for none
	displaced bool   // whether a REX prefix stands where processors ignore it
	encoding  encoding
	space     byte   // the map of vector opcodes
	code      []byte // from the opcode on, without 0f for two-byte opcodes
	size      int    // of the prefixes and the opcode, in bytes
}

// encoding says how an instruction names its opcode.
type encoding uint8

const (
	oneByte encoding = iota
	twoByte          // 0f
	vex
	evex
	xop
	rex2 // of APX
)

// decode reads the prefixes and the opcode with which code begins (Intel SDM, volume
// 2, 2.1 to 2.3 and 2.7; AMD64 APM, volume 3, 1.2). ok reports whether all of them are
// there.
func decode(code []byte, is64 bool) (in instruction, ok bool) {
	i := 0
	for ; i < len(code); i++ {
		switch c := code[i]; {
		case isLegacyPrefix(c):
			in.legacy = code[:i+1]
			in.displaced = in.displaced || in.rex != 0
			continue
		case is64 && c&0xf0 == 0x40:
			in.displaced = in.displaced || in.rex != 0
			in.rex = c
			continue
		}
		break
	}
	rest := code[i:]
	if len(rest) < 2 {
		return in, len(rest) == 1 && in.use(oneByte, i, rest, 0, 1)
	}
	// Programs of 32 bits have les, lds and bound there, with memory operands.
	register := is64 || rest[1] >= 0xc0
	switch c := rest[0]; {
	case c == 0x0f:
		return in, in.use(twoByte, i, rest, 1, 2)
	case c == 0xc5 && register:
		in.space = 1
		return in, in.use(vex, i, rest, 2, 3)
	case c == 0xc4 && register:
		in.space = rest[1] & 0x1f
		return in, in.use(vex, i, rest, 3, 4)
	case c == 0x62 && register:
		in.space = rest[1] & 7
		return in, in.use(evex, i, rest, 4, 5)
	case c == 0x8f && rest[1]&0x1f >= 8:
		return in, in.use(xop, i, rest, 3, 4)
	case c == 0xd5 && is64:
		return in, in.use(rex2, i, rest, 2, 3)
	}
	return in, in.use(oneByte, i, rest, 0, 1)
}

// use notes where the opcode is, and reports whether the code reaches to its end.
func (in *instruction) use(e encoding, prefixes int, rest []byte, opcode, end int) bool {
	if len(rest) < end {
		return false
	}
	in.encoding, in.code, in.size = e, rest[opcode:], prefixes+end
	return true
}

func (in *instruction) opcode() byte { return in.code[0] }

// modRM returns the byte behind the opcode, and its field reg.
func (in *instruction) modRM() (b, reg byte) {
	at := 1
	if in.encoding == twoByte && (in.code[0] == 0x38 || in.code[0] == 0x3a) { // three-byte opcodes
		at = 2
	}
	if len(in.code) <= at {
		return 0, 0
	}
	return in.code[at], in.code[at] >> 3 & 7
}

// hidden reports whether a prefix that makes another instruction of an opcode stands
// before another prefix: the kernel's decoder looks at the last one alone
// (arch/x86/lib/insn.c: insn_get_opcode).
func (in *instruction) hidden() bool {
	for _, c := range in.legacy {
		if (c == 0x66 || c == 0xf2 || c == 0xf3) && c != in.legacy[len(in.legacy)-1] {
			return true
		}
	}
	return false
}

func (in *instruction) has(prefix byte) bool {
	for _, c := range in.legacy {
		if c == prefix {
			return true
		}
	}
	return false
}

// distinct returns how many prefixes there are, each counted once.
func (in *instruction) distinct() int {
	n := 0
	for i, c := range in.legacy {
		if isLegacyPrefix(c) && !(&instruction{legacy: in.legacy[:i]}).has(c) {
			n++
		}
	}
	return n
}

// isLegacyPrefix reports whether c is a prefix in programs of all sizes.
func isLegacyPrefix(c byte) bool {
	switch c {
	case 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0x67, 0xf0, 0xf2, 0xf3:
		return true
	}
	return false
}
