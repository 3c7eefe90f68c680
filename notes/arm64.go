package notes

import (
	"encoding/binary"
)

var arm64 = grammar{
	parse: func(g *grammar, class Class, a *Arg) {
		c := cursor{grammar: g, class: class, text: a.Text}
		c.end(a, c.size(a) && arm64Operand(&c, a))
	},
	append:   appendARM,
	register: arm64Register,
	next:     func(r Register) string { return following(xNames[:], r.DWARF) },
	general:  8,
	site: func(_ binary.ByteOrder, code []byte) SiteKind {
		// Instructions are little-endian, also in big-endian objects.
		return nopAmong(binary.LittleEndian, code, nop{4, 0xd503201f})
	},
}

// xNames are the names of the numbered registers.
var xNames = [31]string{
	"x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7",
	"x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15",
	"x16", "x17", "x18", "x19", "x20", "x21", "x22", "x23",
	"x24", "x25", "x26", "x27", "x28", "x29", "x30",
}

func arm64Register(name string, _ int) (Register, bool) {
	switch name {
	case "sp", "x31": // x31 is the name for readers of pt_regs, not the assembler's
		return Register{Name: "sp", Kind: GeneralRegister, DWARF: 31, Size: 8}, true
	case "wsp":
		return Register{Name: "sp", Kind: GeneralRegister, DWARF: 31, Size: 4}, true
	case "xzr":
		return Register{Name: "xzr", Kind: ZeroRegister, DWARF: -1, Size: 8}, true
	case "wzr":
		return Register{Name: "xzr", Kind: ZeroRegister, DWARF: -1, Size: 4}, true
	case "pc":
		return Register{Name: "pc", Kind: ProgramCounter, DWARF: 32, Size: 8}, true
	case "lr":
		name = "x30"
	case "fp":
		name = "x29"
	case "ip0":
		name = "x16"
	case "ip1":
		name = "x17"
	}
	if n, ok := index(name, "x", 31); ok {
		return Register{Name: xNames[n], Kind: GeneralRegister, DWARF: n, Size: 8}, true
	}
	if n, ok := index(name, "w", 31); ok {
		return Register{Name: xNames[n], Kind: GeneralRegister, DWARF: n, Size: 4}, true
	}
	for i, prefix := range [...]string{"b", "h", "s", "d", "q"} {
		if n, ok := index(name, prefix, 32); ok {
			return vector("v", n, 64+n, 1<<i)
		}
	}
	if n, ok := index(name, "v", 32); ok {
		return vector("v", n, 64+n, 16)
	}
	return Register{}, false
}

// arm64Operand reads REG, [BASE], [BASE, IMM], [BASE, INDEX, lsl 3], an immediate
// with or without '#', or a symbol. A symbol without '#' stands for the memory that
// it names, since sys/sdt.h lets no address of a symbol be a constant here.
func arm64Operand(c *cursor, a *Arg) bool {
	switch b := c.peek(); {
	case b == '[':
		return armAddress(c, a, armIndexing{shift: 4, extends: true})
	case b == '#':
		c.pos++
		return armImmediate(c, a)
	case isSymbolStart(b):
		if done, ok := c.bareRegister(a, "xwvqdshb"); done {
			return ok
		}
	}
	if !armImmediate(c, a) {
		return false
	}
	if a.Symbol != "" {
		a.Kind = Mem
	}
	return true
}
