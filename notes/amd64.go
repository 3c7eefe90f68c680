package notes

import (
	"bytes"
	"encoding/binary"
)

var amd64 = grammar{
	parse: func(g *grammar, class Class, a *Arg) {
		c := cursor{grammar: g, class: class, text: a.Text}
		c.end(a, c.size(a) && x86Operand(&c, a))
	},
	append:   appendX86,
	register: amd64Register,
	next:     amd64Next,
	general:  8,
	site:     func(_ binary.ByteOrder, code []byte) SiteKind { return amd64Site(code) },
}

// amd64Sites are the sites of each kind (arch/x86/kernel/alternative.c: x86_nops).
var amd64Sites = [...][]byte{
	SiteNop:      {0x90},
	SiteNop5:     {0x0f, 0x1f, 0x44, 0x00, 0x00},
	SiteNop10:    {0x66, 0x2e, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00},
	SiteNopNop5:  {0x90, 0x0f, 0x1f, 0x44, 0x00, 0x00},
	SiteNopNop10: {0x90, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00},
}

func amd64Site(code []byte) SiteKind {
	for _, k := range [...]SiteKind{SiteNop5, SiteNop10, SiteNopNop5, SiteNopNop10, SiteNop} {
		if bytes.HasPrefix(code, amd64Sites[k]) {
			return k
		}
	}
	return SiteOther
}

// amd64Names are the general registers in the order of their DWARF numbers
// (x86-64 psABI, figure 3.36), which is also gcc's.
var amd64Names = [16]string{
	"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp",
	"r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
}

const (
	amd64RSP = 7
	amd64RIP = 16
)

// amd64General sets r to the register of a name without a number. Most arguments are
// made of these registers. It fills r in place, since a processor cannot forward
// word-sized stores to the wider loads of a copy.
func amd64General(r *Register, name string) bool {
	n, size, shift := x86General(name)
	if n < 0 {
		return false
	}
	r.Name, r.Kind, r.DWARF, r.Size, r.Shift = amd64Names[n], GeneralRegister, n, size, shift
	return true
}

func amd64Register(name string, _ int) (Register, bool) {
	if n, size, shift := x86General(name); n >= 0 {
		return Register{Name: amd64Names[n], Kind: GeneralRegister, DWARF: n, Size: size, Shift: shift}, true
	}
	return amd64Other(name)
}

// amd64Other returns the register of a name with a number, or of no general
// register.
func amd64Other(name string) (Register, bool) {
	if n, ok := index(name, "r", 16); ok && n >= 8 {
		return Register{Name: amd64Names[n], Kind: GeneralRegister, DWARF: n, Size: 8}, true
	}
	if len(name) > 2 {
		if n, ok := index(name[:len(name)-1], "r", 16); ok && n >= 8 {
			r := Register{Name: amd64Names[n], Kind: GeneralRegister, DWARF: n}
			switch name[len(name)-1] {
			case 'd':
				r.Size = 4
			case 'w':
				r.Size = 2
			case 'b':
				r.Size = 1
			}
			return r, r.Size != 0
		}
	}
	switch name {
	case "rip":
		return Register{Name: "rip", Kind: ProgramCounter, DWARF: amd64RIP, Size: 8}, true
	case "eip":
		return Register{Name: "rip", Kind: ProgramCounter, DWARF: amd64RIP, Size: 4}, true
	case "rflags":
		return Register{Name: "rflags", Kind: OtherRegister, DWARF: 49, Size: 8}, true
	}
	if n, size, ok := x86Vector(name, 32); ok {
		dwarf := 17 + n
		if n >= 16 {
			dwarf = 67 + n - 16
		}
		return vector("xmm", n, dwarf, size)
	}
	return x86Other(name, 33, 41, 50)
}

func amd64Next(r Register) string {
	switch r.DWARF {
	case 6, amd64RSP, 15:
		return ""
	}
	return amd64Names[r.DWARF+1]
}
