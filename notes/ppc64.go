package notes

import (
	"encoding/binary"
	"strconv"
)

var ppc = grammar{
	parse: func(g *grammar, class Class, a *Arg) {
		c := cursor{grammar: g, class: class, text: a.Text}
		c.end(a, c.size(a) && ppcOperand(&c, a))
	},
	append:      appendPPC,
	register:    ppcRegister,
	next:        func(r Register) string { return following(rNames[:], r.DWARF) },
	relocations: true,
	site: func(order binary.ByteOrder, code []byte) SiteKind {
		return nopAmong(order, code, nop{4, 0x60000000})
	},
}

func ppcRegister(name string, size int) (Register, bool) {
	// gcc prints r9 as 9; with -mregnames, and in assembler by hand, it is %r9.
	if n, ok := index(name, "", 32); ok {
		return Register{Name: rNames[n], Kind: GeneralRegister, DWARF: n, Size: size}, true
	}
	if n, ok := index(name, "r", 32); ok {
		return Register{Name: rNames[n], Kind: GeneralRegister, DWARF: n, Size: size}, true
	}
	if n, ok := index(name, "f", 32); ok {
		return vector("f", n, 32+n, 8)
	}
	if n, ok := index(name, "v", 32); ok {
		return vector("v", n, 77+n, 16)
	}
	if n, ok := index(name, "vs", 64); ok {
		return vector("vs", n, -1, 16)
	}
	switch name {
	case "lr":
		return Register{Name: "lr", Kind: OtherRegister, DWARF: 65, Size: size}, true
	case "ctr":
		return Register{Name: "ctr", Kind: OtherRegister, DWARF: 66, Size: size}, true
	}
	return Register{}, false
}

// ppcOperand reads iIMM, REG, DISP(BASE), BASE,INDEX, or a symbol. A number alone is
// a register: sys/sdt.h puts the i before constants.
func ppcOperand(c *cursor, a *Arg) bool {
	if c.peek() == 'i' && startsNumber(c.text[c.pos+1:]) {
		c.pos++
		return c.immediate(a)
	}
	start := c.pos
	if c.peek() == '%' || isDigit(c.peek()) {
		sigil := c.accept('%')
		c.word()
		alone, indexed := c.pos == len(c.text), c.peek() == ','
		c.pos = start
		if sigil || alone || indexed {
			name, r, ok := c.ppcRegister()
			switch {
			case !ok && alone && !sigil:
				c.msg += ", and constants begin with i"
				return false
			case !ok:
				return false
			case indexed:
				return ppcIndexed(c, a, name, r, start)
			}
			return c.setRegister(a, name, r)
		}
	}
	a.Kind = Mem
	if c.peek() != '(' && !c.displacement(a) {
		return false
	}
	if c.pos == len(c.text) && a.Symbol != "" {
		return true
	}
	if !c.expect('(') {
		return false
	}
	c.blanks()
	at := c.pos
	name, r, ok := c.ppcRegister()
	if !ok || !c.address(r, at) {
		return false
	}
	if r.DWARF != 0 { // r0 as a base stands for 0
		a.Base = name
	}
	c.blanks()
	return c.expect(')')
}

// startsNumber reports whether s begins with a number, perhaps signed.
func startsNumber(s string) bool {
	if len(s) > 0 && (s[0] == '-' || s[0] == '+') {
		s = s[1:]
	}
	return len(s) > 0 && isDigit(s[0])
}

// ppcRegister reads a register: %NAME, or a number alone.
func (c *cursor) ppcRegister() (name string, r Register, ok bool) {
	if c.peek() == '%' {
		return c.register('%')
	}
	if !isDigit(c.peek()) {
		return "", r, c.unexpected("a register")
	}
	start := c.pos
	name = c.word()
	if r, ok = c.lookup(name); !ok {
		return "", r, c.fail(start, strconv.Quote(name)+" is not a register")
	}
	return name, r, true
}

// ppcIndexed reads the rest of BASE,INDEX behind the base. As the base, r0 stands for
// 0; as the index it does not (Power ISA, "X-form" addresses).
func ppcIndexed(c *cursor, a *Arg, base string, r Register, start int) bool {
	if !c.address(r, start) || !c.expect(',') {
		return false
	}
	if r.DWARF != 0 {
		a.Base = base
	}
	c.blanks()
	at := c.pos
	name, r, ok := c.ppcRegister()
	if !ok || !c.address(r, at) {
		return false
	}
	a.Kind, a.Index, a.Scale = Mem, name, 1
	return true
}

func appendPPC(dst []byte, a *Arg) []byte {
	switch {
	case a.Kind == Imm && a.Symbol != "":
		return appendBare(append(dst, 'i'), a)
	case a.Kind == Imm:
		return appendImmediate(append(dst, 'i'), a)
	case a.Kind == Reg:
		return appendPPCRegister(dst, a.Reg)
	case a.Index != "":
		dst = append(appendPPCRegister(dst, a.Base), ',')
		return appendPPCRegister(dst, a.Index)
	}
	if a.Symbol != "" && a.Symbol[0] == 'i' {
		dst = appendBare(dst, a) // since i9 would be a constant
	} else {
		dst = appendExpr(dst, a)
	}
	if a.Base == "" && a.Symbol != "" {
		return dst
	}
	dst = append(dst, '(')
	return append(appendPPCRegister(dst, a.Base), ')')
}

// appendPPCRegister appends a register's name, or 0 for an empty name.
func appendPPCRegister(dst []byte, name string) []byte {
	if name == "" {
		return append(dst, '0')
	}
	if !isDigit(name[0]) {
		dst = append(dst, '%')
	}
	return append(dst, name...)
}
