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
		return general(&rNames, n, size)
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

// mipsN64 are the names of registers in the ABI n64, mipsO32 those in o32, which has fewer
// argument registers. The frame pointer is also s8.
var (
	mipsN64 = [32]string{
		"zero", "at", "v0", "v1", "a0", "a1", "a2", "a3",
		"a4", "a5", "a6", "a7", "t0", "t1", "t2", "t3",
		"s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7",
		"t8", "t9", "k0", "k1", "gp", "sp", "fp", "ra",
	}
	mipsO32 = [32]string{
		"zero", "at", "v0", "v1", "a0", "a1", "a2", "a3",
		"t0", "t1", "t2", "t3", "t4", "t5", "t6", "t7",
		"s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7",
		"t8", "t9", "k0", "k1", "gp", "sp", "fp", "ra",
	}
)

// mipsNumber returns the number of a register by its name in the ABI: n64 if registers have
// 8 bytes, o32 if they have 4.
func mipsNumber(name string, size int) (n int, ok bool) {
	switch {
	case name == "s8":
		return 30, true
	case size == 8:
		return position(&mipsN64, name)
	}
	return position(&mipsO32, name)
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
