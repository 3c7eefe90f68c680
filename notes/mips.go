package notes

import (
	"encoding/binary"
)

var mips = grammar{
	parse: func(g *grammar, class Class, a *Arg) {
		c := cursor{grammar: g, class: class, text: a.Text}
		c.end(a, c.size(a) && mipsOperand(&c, a))
	},
	append:   appendMIPS,
	register: mipsRegister,
	next:     func(r Register) string { return following(rNames[:], r.DWARF) },
	site: func(order binary.ByteOrder, code []byte) SiteKind {
		return nopAmong(order, code, nop{4, 0x00000000})
	},
}

func mipsRegister(name string, size int) (Register, bool) {
	n, ok := index(name, "", 32)
	if !ok {
		n, ok = index(name, "r", 32)
	}
	if !ok {
		n, ok = mipsNumber(name, size)
	}
	if ok {
		r := Register{Name: rNames[n], Kind: GeneralRegister, DWARF: n, Size: size}
		if n == 0 {
			r.Kind = ZeroRegister
		}
		return r, true
	}
	if n, ok := index(name, "f", 32); ok {
		return vector("f", n, 32+n, 8)
	}
	switch name {
	case "hi":
		return Register{Name: "hi", Kind: OtherRegister, DWARF: 64, Size: size}, true
	case "lo":
		return Register{Name: "lo", Kind: OtherRegister, DWARF: 65, Size: size}, true
	case "pc":
		return Register{Name: "pc", Kind: ProgramCounter, DWARF: -1, Size: size}, true
	}
	return Register{}, false
}

// mipsNumber returns the number of a register by its name in the ABI: n64 if
// registers have 8 bytes, o32, which has fewer argument registers, if they have 4.
func mipsNumber(name string, size int) (n int, ok bool) {
	switch name {
	case "zero":
		return 0, true
	case "at":
		return 1, true
	case "t8":
		return 24, true
	case "t9":
		return 25, true
	case "gp":
		return 28, true
	case "sp":
		return 29, true
	case "fp", "s8":
		return 30, true
	case "ra":
		return 31, true
	}
	if n, ok = index(name, "v", 2); ok {
		return 2 + n, true
	}
	if n, ok = index(name, "s", 8); ok {
		return 16 + n, true
	}
	if n, ok = index(name, "k", 2); ok {
		return 26 + n, true
	}
	if size == 8 {
		if n, ok = index(name, "a", 8); ok {
			return 4 + n, true
		}
		n, ok = index(name, "t", 4)
		return 12 + n, ok
	}
	if n, ok = index(name, "a", 4); ok {
		return 4 + n, true
	}
	n, ok = index(name, "t", 8)
	return 8 + n, ok
}

// mipsOperand reads $REG, DISP($BASE), %lo(SYM)($BASE), an immediate, or a symbol,
// which stands for the memory that it names.
func mipsOperand(c *cursor, a *Arg) bool {
	if c.peek() == '$' {
		name, r, ok := c.register('$')
		return ok && c.setRegister(a, name, r)
	}
	return c.displaced(a, '$')
}

func appendMIPS(dst []byte, a *Arg) []byte {
	switch {
	case a.Kind == Imm:
		return appendImmediate(dst, a)
	case a.Kind == Reg:
		return append(append(dst, '$'), a.Reg...)
	}
	dst = appendRelocated(dst, a)
	if a.Base == "" {
		return dst
	}
	return append(append(append(dst, "($"...), a.Base...), ')')
}
