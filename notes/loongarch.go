package notes

import (
	"encoding/binary"
)

var loongarch = grammar{
	parse: func(g *grammar, class Class, a *Arg) {
		c := cursor{grammar: g, class: class, text: a.Text}
		c.end(a, c.size(a) && loongarchOperand(&c, a))
	},
	append:   appendLoongArch,
	register: loongarchRegister,
	next:     func(r Register) string { return following(rNames[:], r.DWARF) },
	site: func(order binary.ByteOrder, code []byte) SiteKind {
		return nopAmong(order, code, nop{4, 0x03400000}) // andi $zero,$zero,0
	},
}

func loongarchRegister(name string, size int) (Register, bool) {
	n, ok := index(name, "r", 32)
	if !ok {
		n, ok = position(&loongarchNames, name)
	}
	if name == "s9" {
		n, ok = 22, true
	}
	if ok {
		return general(&rNames, n, size)
	}
	if name == "pc" {
		return Register{Name: "pc", Kind: ProgramCounter, DWARF: -1, Size: size}, true
	}
	if n, ok = index(name, "f", 32); !ok {
		if n, ok = index(name, "fa", 8); !ok {
			if n, ok = index(name, "ft", 16); ok {
				n += 8
			} else if n, ok = index(name, "fs", 8); ok {
				n += 24
			}
		}
	}
	if ok {
		return vector("f", n, 32+n, 8)
	}
	return Register{}, false
}

// loongarchNames are the registers r0 … r31 by their ABI names (LoongArch psABI, "Register
// Convention"). The frame pointer is also s9; r21 is reserved.
var loongarchNames = [32]string{
	"zero", "ra", "tp", "sp", "a0", "a1", "a2", "a3",
	"a4", "a5", "a6", "a7", "t0", "t1", "t2", "t3",
	"t4", "t5", "t6", "t7", "t8", "r21", "fp", "s0",
	"s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8",
}

// loongarchOperand reads $REG, [$BASE], [$BASE, DISP], [$BASE, $INDEX], an immediate,
// or a symbol, which stands for the memory that it names. Compilers leave out the
// brackets of an address: $r22,-20 (gcc) and $fp, -20 (clang).
func loongarchOperand(c *cursor, a *Arg) bool {
	bracket := c.accept('[')
	if bracket {
		c.blanks()
	}
	if !bracket && c.peek() != '$' {
		return c.displaced(a, '$')
	}
	at := c.pos
	name, r, ok := c.loongarchRegister()
	if !ok {
		return false
	}
	c.blanks()
	switch {
	case c.accept(','):
		a.Base = name
		if !loongarchOffset(c, a) {
			return false
		}
	case bracket:
		a.Base = name
	default:
		return c.setRegister(a, name, r)
	}
	a.Kind = Mem
	if r.Kind != GeneralRegister && r.Kind != ZeroRegister {
		return c.fail(at, "$"+name+" cannot be part of an address")
	}
	c.blanks()
	return !bracket || c.expect(']')
}

// loongarchOffset reads what follows the comma of an address.
func loongarchOffset(c *cursor, a *Arg) bool {
	c.blanks()
	start := c.pos
	switch c.peek() {
	case '$':
		name, r, ok := c.register('$')
		if !ok || !c.address(r, start) {
			return false
		}
		a.Index, a.Scale = name, 1
		return true
	case '%':
		e, ok := c.relocated()
		return ok && c.setDisp(a, e, start)
	}
	return c.displacement(a)
}

// loongarchRegister reads a register. In brackets the '$' may be missing: bcc knows
// [sp, 120].
func (c *cursor) loongarchRegister() (name string, r Register, ok bool) {
	if c.peek() == '$' {
		return c.register('$')
	}
	return c.register(0)
}

func appendLoongArch(dst []byte, a *Arg) []byte {
	switch {
	case a.Kind == Imm:
		return appendImmediate(dst, a)
	case a.Kind == Reg:
		return append(append(dst, '$'), a.Reg...)
	case a.Base == "":
		return appendRelocated(dst, a)
	}
	dst = append(append(dst, "[$"...), a.Base...)
	switch {
	case a.Index != "":
		dst = append(append(dst, ", $"...), a.Index...)
	case a.Disp != 0 || a.Symbol != "":
		dst = appendRelocated(append(dst, ", "...), a)
	}
	return append(dst, ']')
}
