package notes

import (
	"strconv"
)

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

// amd64Register returns the register of any other name.
func amd64Register(name string) (Register, bool) {
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

func i386Register(name string) (Register, bool) {
	// The 386 has the first eight registers only, without a 64-bit name, and
	// no name for the low bytes of the last four.
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

// i386Names are the general registers in gcc's order, i386DWARF their numbers
// in DWARF (i386 psABI, table 2.14): ecx and edx change places, and the stack
// and frame pointers come before esi and edi.
var (
	i386Names = [8]string{"eax", "edx", "ecx", "ebx", "esi", "edi", "ebp", "esp"}
	i386DWARF = [8]int{0, 2, 1, 3, 6, 7, 5, 4}
)

// x86General returns the index in amd64Names that a name without a number
// stands for, or -1.
func x86General(name string) (n, size, shift int) {
	switch name {
	case "rax", "eax", "ax", "al", "ah":
		n = 0
	case "rdx", "edx", "dx", "dl", "dh":
		n = 1
	case "rcx", "ecx", "cx", "cl", "ch":
		n = 2
	case "rbx", "ebx", "bx", "bl", "bh":
		n = 3
	case "rsi", "esi", "si", "sil":
		n = 4
	case "rdi", "edi", "di", "dil":
		n = 5
	case "rbp", "ebp", "bp", "bpl":
		n = 6
	case "rsp", "esp", "sp", "spl":
		n = amd64RSP
	default:
		return -1, 0, 0
	}
	switch {
	case name[0] == 'r':
		return n, 8, 0
	case name[0] == 'e':
		return n, 4, 0
	case name[len(name)-1] == 'l':
		return n, 1, 0
	case name[len(name)-1] == 'h':
		return n, 1, 8
	}
	return n, 2, 0
}

// x86Vector reads the names of the SSE and AVX registers; a ymm or zmm
// register is known by the name of its lower part.
func x86Vector(name string, limit int) (n, size int, ok bool) {
	if len(name) < 4 {
		return 0, 0, false
	}
	switch name[0] {
	case 'x':
		size = 16
	case 'y':
		size = 32
	case 'z':
		size = 64
	default:
		return 0, 0, false
	}
	n, ok = index(name[1:], "mm", limit)
	return n, size, ok
}

// x86Other reads the names of the x87, MMX and segment registers, whose DWARF
// numbers begin at st, mm and seg.
func x86Other(name string, st, mm, seg int) (Register, bool) {
	if name == "st" {
		name = "st(0)"
	}
	if len(name) == len("st(0)") && name[4] == ')' {
		if n, ok := index(name[:4], "st(", 8); ok {
			return Register{Name: name, Kind: VectorRegister, DWARF: st + n, Size: 10}, true
		}
	}
	if n, ok := index(name, "mm", 8); ok {
		return vector("mm", n, mm+n, 8)
	}
	for i, s := range [...]string{"es", "cs", "ss", "ds", "fs", "gs"} {
		if name == s {
			return Register{Name: s, Kind: OtherRegister, DWARF: seg + i, Size: 2}, true
		}
	}
	return Register{}, false
}

func amd64Pair(dwarf int) string {
	switch dwarf {
	case 6, amd64RSP, 15:
		return ""
	}
	return amd64Names[dwarf+1]
}

func i386Pair(name string) string {
	for n, s := range i386Names[:6] {
		if name == s {
			return i386Names[n+1]
		}
	}
	return ""
}

// x86Operand reads AT&T syntax: $IMM, %REG, [%SEG:][DISP][(BASE,INDEX,SCALE)].
func x86Operand(c *cursor, a *Arg) bool {
	if c.accept('$') {
		return c.immediate(a)
	}
	if c.peek() == '%' {
		at := c.pos
		name, ok := c.readRegister('%', &c.reg)
		if !ok {
			return false
		}
		if !c.accept(':') {
			a.Kind, a.Reg = Reg, name
			return true
		}
		if name != "fs" && name != "gs" {
			return c.fail(at, "only the segments %fs and %gs have a base")
		}
		a.Segment = name
	}
	a.Kind = Mem
	if c.peek() != '(' && !c.displacement(a) {
		return false
	}
	return !c.accept('(') || x86Address(c, a)
}

func x86Address(c *cursor, a *Arg) bool {
	var base, idx Register
	c.blanks()
	start := c.pos
	if c.peek() == '%' {
		var ok bool
		if a.Base, ok = c.readRegister('%', &base); !ok {
			return false
		}
		if base.Kind != GeneralRegister && base.Kind != ProgramCounter || base.Size < 4 {
			return c.fail(start, "%"+a.Base+" cannot be a base register")
		}
		c.blanks()
	}
	if c.accept(',') {
		c.blanks()
		at := c.pos
		var ok bool
		if a.Index, ok = c.readRegister('%', &idx); !ok {
			return false
		}
		if idx.Kind != GeneralRegister || idx.Size < 4 || idx.Name == "rsp" || idx.Name == "esp" {
			return c.fail(at, "%"+a.Index+" cannot be an index register")
		}
		if a.Base != "" && (base.Kind == ProgramCounter || base.Size != idx.Size) {
			return c.fail(at, "%"+a.Base+" and %"+a.Index+" cannot form an address")
		}
		a.Scale = 1
		c.blanks()
		if c.accept(',') {
			c.blanks()
			at := c.pos
			n, ok := c.number()
			if !ok {
				return false
			}
			if n != 1 && n != 2 && n != 4 && n != 8 {
				return c.fail(at, "scale is "+strconv.FormatUint(n, 10)+", not 1, 2, 4 or 8")
			}
			a.Scale = int(n)
			c.blanks()
		}
	}
	if a.Base == "" && a.Index == "" {
		return c.unexpected("a register")
	}
	return c.expect(')')
}

func appendX86(dst []byte, a *Arg) []byte {
	switch a.Kind {
	case Imm:
		return appendImmediate(append(dst, '$'), a)
	case Reg:
		return append(append(dst, '%'), a.Reg...)
	}
	if a.Segment != "" {
		dst = append(dst, '%')
		dst = append(append(dst, a.Segment...), ':')
	}
	if a.Base == "" && a.Index == "" {
		return appendExpr(dst, a)
	}
	if a.Disp != 0 || a.Symbol != "" {
		dst = appendExpr(dst, a)
	}
	dst = append(dst, '(')
	if a.Base != "" {
		dst = append(append(dst, '%'), a.Base...)
	}
	if a.Index != "" {
		dst = append(append(dst, ",%"...), a.Index...)
		dst = strconv.AppendInt(append(dst, ','), int64(max(a.Scale, 1)), 10)
	}
	return append(dst, ')')
}
