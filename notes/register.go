package notes

import (
	"slices"
	"strconv"
)

// RegisterKind says what a register holds.
type RegisterKind uint8

const (
	// GeneralRegister holds integers and addresses; the stack pointer is one.
	GeneralRegister RegisterKind = iota + 1
	// VectorRegister holds floating-point numbers or vectors. BPF programs
	// cannot read it.
	VectorRegister
	// ProgramCounter is the address of the probe site while a tracer reads the site's
	// arguments.
	ProgramCounter
	// ZeroRegister reads as 0 and has no storage: arm64's xzr, $0 on MIPS.
	ZeroRegister
	// OtherRegister is none of these: flags, segments, link and count registers.
	OtherRegister
)

func (k RegisterKind) String() string {
	switch k {
	case GeneralRegister:
		return "general"
	case VectorRegister:
		return "vector"
	case ProgramCounter:
		return "pc"
	case ZeroRegister:
		return "zero"
	case OtherRegister:
		return "other"
	}
	return "invalid"
}

// Register describes what the name of a register stands for.
type Register struct {
	// Name is the name of the whole register: "rax" for "ah", "x3" for "w3". Looking
	// it up gives a Register of the same Name and DWARF.
	Name string
	Kind RegisterKind
	// DWARF is the whole register's number in the architecture's DWARF mapping, or -1
	// if it has none.
	DWARF int
	// Size is the number of bytes that the name covers, in a register that
	// may be larger.
	Size int
	// Shift is the number of the register's bits below the named part: 8 for "ah". It
	// is 0 for nearly every name.
	Shift int
}

// LookupRegister returns the register that name stands for in the assembler of
// machine m and class c; ok is false if there is none, or no grammar for m.
// The name is without the assembler's '%' or '$', as in an [Arg].
func LookupRegister(m Machine, c Class, name string) (r Register, ok bool) {
	if g := grammarOf(m); g != nil {
		return g.register(name, g.word(c))
	}
	return Register{}, false
}

// rNames are the names that most architectures give to numbered registers. They are
// listed so that no lookup has to make one.
var rNames = [32]string{
	"r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7",
	"r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
	"r16", "r17", "r18", "r19", "r20", "r21", "r22", "r23",
	"r24", "r25", "r26", "r27", "r28", "r29", "r30", "r31",
}

// position returns the number of the register that has a name.
func position(names *[32]string, name string) (n int, ok bool) {
	n = slices.Index(names[:], name)
	return n, n >= 0
}

// general returns general register n of a machine whose register 0 is always 0.
func general(names *[32]string, n, size int) (Register, bool) {
	r := Register{Name: names[n], Kind: GeneralRegister, DWARF: n, Size: size}
	if n == 0 {
		r.Kind = ZeroRegister
	}
	return r, true
}

// index returns N if name is prefix followed by the decimal number N and N is
// below limit.
func index(name, prefix string, limit int) (n int, ok bool) {
	if len(name) <= len(prefix) || len(name) > len(prefix)+2 || name[:len(prefix)] != prefix {
		return 0, false
	}
	digits := name[len(prefix):]
	for i := range len(digits) {
		if !isDigit(digits[i]) {
			return 0, false
		}
		n = n*10 + int(digits[i]-'0')
	}
	if len(digits) == 2 && digits[0] == '0' {
		return 0, false
	}
	return n, n < limit
}

// vector returns register N of the vector registers called prefix, for a name that
// covers its lowest size bytes.
func vector(prefix string, n, dwarf, size int) (Register, bool) {
	return Register{Name: prefix + strconv.Itoa(n), Kind: VectorRegister, DWARF: dwarf, Size: size}, true
}
