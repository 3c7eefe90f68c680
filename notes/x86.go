package notes

import (
	"strconv"
)

// x86General returns the index in amd64Names that a name without a number stands for,
// or -1.
func x86General(name string) (n, size, shift int) {
	switch name {
	case "rax", "eax", "ax", "al", "ah":
		n = 0
	case "rdx", "edx", "dx", "dl", "dh":
		n = 1
	case "rcx", "ecx", "cx", "cl", "ch":
		n = 2
	case "rbx", "ebx", "bx", "bl", "bh":
		n = 3
	case "rsi", "esi", "si", "sil":
		n = 4
	case "rdi", "edi", "di", "dil":
		n = 5
	case "rbp", "ebp", "bp", "bpl":
		n = 6
	case "rsp", "esp", "sp", "spl":
		n = amd64RSP
	default:
		return -1, 0, 0
	}
	switch {
	case name[0] == 'r':
		return n, 8, 0
	case name[0] == 'e':
		return n, 4, 0
	case name[len(name)-1] == 'l':
		return n, 1, 0
	case name[len(name)-1] == 'h':
		return n, 1, 8
	}
	return n, 2, 0
}

// x86Vector reads the names of the SSE and AVX registers. A ymm or zmm register has
// the Name of its lower part.
func x86Vector(name string, limit int) (n, size int, ok bool) {
	if len(name) < 4 {
		return 0, 0, false
	}
	switch name[0] {
	case 'x':
		size = 16
	case 'y':
		size = 32
	case 'z':
		size = 64
	default:
		return 0, 0, false
	}
	n, ok = index(name[1:], "mm", limit)
	return n, size, ok
}

// x86Other reads the names of the x87, MMX and segment registers, whose DWARF
// numbers begin at st, mm and seg.
func x86Other(name string, st, mm, seg int) (Register, bool) {
	if name == "st" {
		name = "st(0)"
	}
	if len(name) == len("st(0)") && name[4] == ')' {
		if n, ok := index(name[:4], "st(", 8); ok {
			return Register{Name: name, Kind: VectorRegister, DWARF: st + n, Size: 10}, true
		}
	}
	if n, ok := index(name, "mm", 8); ok {
		return vector("mm", n, mm+n, 8)
	}
	for i, s := range [...]string{"es", "cs", "ss", "ds", "fs", "gs"} {
		if name == s {
			return Register{Name: s, Kind: OtherRegister, DWARF: seg + i, Size: 2}, true
		}
	}
	return Register{}, false
}

// x86Operand reads AT&T syntax: $IMM, %REG, [%SEG:][DISP][(BASE,INDEX,SCALE)].
func x86Operand(c *cursor, a *Arg) bool {
	if c.accept('$') {
		return c.immediate(a)
	}
	if c.peek() == '%' {
		at := c.pos
		name, ok := c.x86Register(&c.reg)
		if !ok {
			return false
		}
		if !c.accept(':') {
			a.Kind, a.Reg = Reg, name
			return true
		}
		if name != "fs" && name != "gs" {
			return c.fail(at, "only the segments %fs and %gs have a base")
		}
		a.Segment = name
	}
	a.Kind = Mem
	if c.peek() != '(' && !c.displacement(a) {
		return false
	}
	return !c.accept('(') || x86Address(c, a)
}

// x86Register reads a register's name and stores the register in r. Most are filled
// in place; see amd64General.
func (c *cursor) x86Register(r *Register) (name string, ok bool) {
	at := c.pos
	if name, ok = c.registerName('%'); !ok {
		return "", false
	}
	if c.grammar.general == 8 && amd64General(r, name) {
		return name, true
	}
	if *r, ok = c.lookup(name); !ok {
		return "", c.notRegister(at)
	}
	return name, true
}

func x86Address(c *cursor, a *Arg) bool {
	var base, idx Register
	c.blanks()
	start := c.pos
	if c.peek() == '%' {
		var ok bool
		if a.Base, ok = c.x86Register(&base); !ok {
			return false
		}
		if base.Kind != GeneralRegister && base.Kind != ProgramCounter || base.Size < 4 {
			return c.fail(start, "%"+a.Base+" cannot be a base register")
		}
		c.blanks()
	}
	if c.accept(',') {
		c.blanks()
		at := c.pos
		var ok bool
		if a.Index, ok = c.x86Register(&idx); !ok {
			return false
		}
		if idx.Kind != GeneralRegister || idx.Size < 4 || idx.Name == "rsp" || idx.Name == "esp" {
			return c.fail(at, "%"+a.Index+" cannot be an index register")
		}
		if a.Base != "" && (base.Kind == ProgramCounter || base.Size != idx.Size) {
			return c.fail(at, "%"+a.Base+" and %"+a.Index+" cannot form an address")
		}
		a.Scale = 1
		c.blanks()
		if c.accept(',') {
			c.blanks()
			at := c.pos
			n, ok := c.number()
			if !ok {
				return false
			}
			if n != 1 && n != 2 && n != 4 && n != 8 {
				return c.fail(at, "scale is "+strconv.FormatUint(n, 10)+", not 1, 2, 4 or 8")
			}
			a.Scale = int(n)
			c.blanks()
		}
	}
	if a.Base == "" && a.Index == "" {
		return c.unexpected("a register")
	}
	return c.expect(')')
}

func appendX86(dst []byte, a *Arg) []byte {
	switch a.Kind {
	case Imm:
		return appendImmediate(append(dst, '$'), a)
	case Reg:
		return append(append(dst, '%'), a.Reg...)
	}
	if a.Segment != "" {
		dst = append(dst, '%')
		dst = append(append(dst, a.Segment...), ':')
	}
	if a.Base == "" && a.Index == "" {
		return appendExpr(dst, a)
	}
	if a.Disp != 0 || a.Symbol != "" {
		dst = appendExpr(dst, a)
	}
	dst = append(dst, '(')
	if a.Base != "" {
		dst = append(append(dst, '%'), a.Base...)
	}
	if a.Index != "" {
		dst = append(append(dst, ",%"...), a.Index...)
		dst = strconv.AppendInt(append(dst, ','), int64(max(a.Scale, 1)), 10)
	}
	return append(dst, ')')
}
