package notes

import (
	"encoding/binary"
)

var riscv = grammar{
	parse: func(g *grammar, class Class, a *Arg) {
		c := cursor{grammar: g, class: class, text: a.Text}
		c.end(a, c.size(a) && riscvOperand(&c, a))
	},
	append:   appendRISCV,
	register: riscvRegister,
	next:     func(r Register) string { return following(riscvNames[:], r.DWARF) },
	site: func(order binary.ByteOrder, code []byte) SiteKind {
		return nopAmong(order, code, nop{4, 0x00000013}, nop{2, 0x0001}) // nop, c.nop
	},
}

// riscvNames are the registers x0 … x31 by their ABI names (RISC-V ELF psABI).
var riscvNames = [32]string{
	"zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2",
	"s0", "s1", "a0", "a1", "a2", "a3", "a4", "a5",
	"a6", "a7", "s2", "s3", "s4", "s5", "s6", "s7",
	"s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6",
}

func riscvRegister(name string, size int) (Register, bool) {
	n, ok := riscvNumber(name)
	if !ok {
		n, ok = index(name, "x", 32)
	}
	if ok {
		return general(&riscvNames, n, size)
	}
	if name == "pc" {
		return Register{Name: "pc", Kind: ProgramCounter, DWARF: -1, Size: size}, true
	}
	if n, ok = index(name, "f", 32); !ok && len(name) > 2 && name[0] == 'f' {
		// ft, fs and fa are numbered like the general t, s and a, except for the
		// registers that these leave out.
		if n, ok = index(name, "ft", 12); ok {
			if n > 7 {
				n += 28 - 8
			}
		} else if n, ok = riscvNumber(name[1:]); ok {
			ok = name[1] == 's' && n != 2 || name[1] == 'a' // not fsp
		}
	}
	if ok {
		return vector("f", n, 32+n, 8)
	}
	return Register{}, false
}

// riscvNumber returns N of the register xN that an ABI name stands for.
func riscvNumber(name string) (n int, ok bool) {
	if name == "fp" {
		return 8, true
	}
	return position(&riscvNames, name)
}

// riscvOperand reads REG, DISP(BASE), %lo(SYM)(BASE), an immediate, or a symbol,
// which stands for the memory that it names.
func riscvOperand(c *cursor, a *Arg) bool {
	if isSymbolStart(c.peek()) {
		if done, ok := c.bareRegister(a, "xatsf"); done {
			return ok
		}
	}
	return c.displaced(a, 0)
}

func appendRISCV(dst []byte, a *Arg) []byte {
	switch {
	case a.Kind == Imm:
		return appendImmediate(dst, a)
	case a.Kind == Reg:
		return append(dst, a.Reg...)
	}
	if a.Reloc != "" {
		dst = appendRelocated(dst, a)
	} else {
		dst = appendBare(dst, a) // a symbol may have the name of a register
	}
	if a.Base == "" {
		return dst
	}
	return append(append(append(dst, '('), a.Base...), ')')
}
