package notes

import (
	"encoding/binary"
)

var arm = grammar{
	parse: func(g *grammar, class Class, a *Arg) {
		c := cursor{grammar: g, class: class, text: a.Text}
		c.end(a, c.size(a) && armOperand(&c, a))
	},
	append:   appendARM,
	register: armRegister,
	next:     func(r Register) string { return following(rNames[:13], r.DWARF) },
	general:  4,
	site: func(order binary.ByteOrder, code []byte) SiteKind {
		return nopAmong(order, code, nop{4, 0xe320f000}, nop{4, 0xe1a00000}, nop{2, 0xbf00}, nop{2, 0x46c0}) // nop, mov r0,r0; Thumb: nop, mov r8,r8
	},
}

func armRegister(name string, _ int) (Register, bool) {
	switch name {
	case "sp", "r13":
		return Register{Name: "sp", Kind: GeneralRegister, DWARF: 13, Size: 4}, true
	case "lr", "r14":
		return Register{Name: "lr", Kind: GeneralRegister, DWARF: 14, Size: 4}, true
	case "pc", "r15":
		return Register{Name: "pc", Kind: ProgramCounter, DWARF: 15, Size: 4}, true
	case "sb":
		name = "r9"
	case "sl":
		name = "r10"
	case "fp":
		name = "r11"
	case "ip":
		name = "r12"
	}
	if n, ok := index(name, "r", 13); ok {
		return Register{Name: rNames[n], Kind: GeneralRegister, DWARF: n, Size: 4}, true
	}
	if n, ok := index(name, "s", 32); ok {
		r, ok := vector("d", n/2, 256+n/2, 4)
		r.Shift = n % 2 * 32
		return r, ok
	}
	if n, ok := index(name, "d", 32); ok {
		return vector("d", n, 256+n, 8)
	}
	if n, ok := index(name, "q", 16); ok {
		return vector("q", n, -1, 16)
	}
	return Register{}, false
}

// armOperand reads REG, [BASE], [BASE, #IMM], [BASE, INDEX, lsl #2], an immediate
// with or without '#', or a symbol. A symbol stands for its address with '#' (gcc)
// and without (clang): sys/sdt.h allows constant addresses on arm only, and compilers
// have no other use for a symbol there.
func armOperand(c *cursor, a *Arg) bool {
	switch b := c.peek(); {
	case b == '[':
		// Instructions can shift by 31, but an int of 32 bits could not hold that
		// as a factor.
		return armAddress(c, a, armIndexing{shift: 30})
	case b == '#':
		c.pos++
	case isSymbolStart(b):
		if done, ok := c.bareRegister(a, "rdq"); done {
			return ok
		}
	}
	return armImmediate(c, a)
}
