package notes

import (
	"encoding/binary"
)

var i386 = grammar{
	parse: func(g *grammar, class Class, a *Arg) {
		c := cursor{grammar: g, class: class, text: a.Text}
		c.end(a, c.size(a) && x86Operand(&c, a))
	},
	append:     appendX86,
	register:   i386Register,
	next:       i386Next,
	general:    4,
	longDouble: true,
	site: func(_ binary.ByteOrder, code []byte) SiteKind {
		if len(code) > 0 && code[0] == 0x90 {
			return SiteNop
		}
		return SiteOther
	},
}

func i386Register(name string, _ int) (Register, bool) {
	// The 386 has only the first eight registers. They have no 64-bit name, and the
	// last four have no name for their low bytes.
	if n, size, shift := x86General(name); n >= 0 && size != 8 && (size != 1 || n < 4) {
		return Register{Name: i386Names[n], Kind: GeneralRegister, DWARF: i386DWARF[n], Size: size, Shift: shift}, true
	}
	switch name {
	case "eip":
		return Register{Name: "eip", Kind: ProgramCounter, DWARF: 8, Size: 4}, true
	case "eflags":
		return Register{Name: "eflags", Kind: OtherRegister, DWARF: 9, Size: 4}, true
	}
	if n, size, ok := x86Vector(name, 8); ok {
		return vector("xmm", n, 21+n, size)
	}
	return x86Other(name, 11, 29, 40)
}

// i386Names are the general registers in gcc's order, i386DWARF their numbers in
// DWARF (i386 psABI, table 2.14). The numbers of ecx and edx are swapped, and the
// stack and frame pointers come before esi and edi.
var (
	i386Names = [8]string{"eax", "edx", "ecx", "ebx", "esi", "edi", "ebp", "esp"}
	i386DWARF = [8]int{0, 2, 1, 3, 6, 7, 5, 4}
)

func i386Next(r Register) string {
	for n, s := range i386Names[:6] {
		if r.Name == s {
			return i386Names[n+1]
		}
	}
	return ""
}
