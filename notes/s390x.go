package notes

import (
	"encoding/binary"
	"strconv"
)

var s390x = grammar{
	parse: func(g *grammar, class Class, a *Arg) {
		c := cursor{grammar: g, class: class, text: a.Text}
		c.end(a, c.size(a) && s390xOperand(&c, a))
	},
	append:   appendS390x,
	register: s390xRegister,
	next:     func(r Register) string { return following(rNames[:16], r.DWARF) },
	site: func(order binary.ByteOrder, code []byte) SiteKind {
		return nopAmong(order, code, nop{4, 0x47000000}, nop{2, 0x0700}) // nop 0, nopr
	},
}

// s390xFloats maps the number of a floating-point register to its DWARF number minus
// 16 (ELF application binary interface, s390x supplement).
var s390xFloats = [16]int{0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15}

func s390xRegister(name string, size int) (Register, bool) {
	if n, ok := index(name, "r", 16); ok {
		return Register{Name: rNames[n], Kind: GeneralRegister, DWARF: n, Size: size}, true
	}
	if n, ok := index(name, "f", 16); ok {
		return vector("f", n, 16+s390xFloats[n], 8)
	}
	if n, ok := index(name, "a", 16); ok {
		return Register{Name: "a" + strconv.Itoa(n), Kind: OtherRegister, DWARF: 48 + n, Size: 4}, true
	}
	return Register{}, false
}

// s390xOperand reads %REG, DISP(%BASE), DISP(%INDEX,%BASE), an immediate, or a
// symbol, which stands for the memory that it names.
func s390xOperand(c *cursor, a *Arg) bool {
	if c.peek() == '%' {
		name, r, ok := c.register('%')
		return ok && c.setRegister(a, name, r)
	}
	var e expr
	start := c.pos
	if c.peek() != '(' {
		var ok bool
		if e, ok = c.sum(); !ok {
			return false
		}
	}
	if c.peek() != '(' {
		if e.symbol == "" {
			return c.setImmediate(a, e, start)
		}
		a.Kind = Mem
		return c.setDisp(a, e, start)
	}
	a.Kind = Mem
	if !c.setDisp(a, e, start) {
		return false
	}
	c.pos++
	name, ok := c.s390xAddress()
	if !ok {
		return false
	}
	if c.accept(',') {
		if a.Index = name; name != "" {
			a.Scale = 1
		}
		if name, ok = c.s390xAddress(); !ok {
			return false
		}
	}
	a.Base = name
	return c.expect(')')
}

// s390xAddress reads a register of an address with the blanks around it. It returns
// an empty name for r0, which stands for 0 there.
func (c *cursor) s390xAddress() (name string, ok bool) {
	c.blanks()
	at := c.pos
	name, r, ok := c.register('%')
	if !ok || !c.address(r, at) {
		return "", false
	}
	if r.DWARF == 0 {
		name = ""
	}
	c.blanks()
	return name, true
}

func appendS390x(dst []byte, a *Arg) []byte {
	switch {
	case a.Kind == Imm:
		return appendImmediate(dst, a)
	case a.Kind == Reg:
		return append(append(dst, '%'), a.Reg...)
	case a.Base == "" && a.Index == "" && a.Symbol != "":
		return appendExpr(dst, a)
	}
	dst = append(appendExpr(dst, a), '(')
	if a.Index != "" {
		dst = append(appendS390xRegister(dst, a.Index), ',')
	}
	return append(appendS390xRegister(dst, a.Base), ')')
}

func appendS390xRegister(dst []byte, name string) []byte {
	if name == "" {
		name = "r0"
	}
	return append(append(dst, '%'), name...)
}
