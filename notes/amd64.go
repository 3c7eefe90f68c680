package notes

import "debug/elf"

var amd64 = grammar{
	parse: func(g *grammar, class elf.Class, a *Arg) {
		c := cursor{grammar: g, class: class, text: a.Text}
		c.end(a, c.size(a) && x86Operand(&c, a))
	},
	append:   appendX86,
	register: amd64Register,
	next:     amd64Next,
	general:  8,
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

// amd64General sets r to the register of a name without a number. These are
// what most arguments are made of: r is filled where it lies, since a processor
// cannot forward what was stored in words to the wider loads of a copy.
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
