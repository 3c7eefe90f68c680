package notes

import (
	"debug/elf"
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
	// ProgramCounter is the address of the probe site itself while a tracer
	// looks at its arguments.
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

// Register tells what the name of a register stands for.
type Register struct {
	// Name is the name of the whole register: "rax" for "ah", "x3" for "w3".
	// Looked up, it gives a Register of the same Name and DWARF.
	Name string
	Kind RegisterKind
	// DWARF is the whole register's number in the architecture's DWARF
	// mapping, -1 if that gives it none.
	DWARF int
	// Size is the number of bytes that the name covers, in a register that
	// may be larger.
	Size int
	// Shift is how many bits of the register lie below the named part: 8 for
	// "ah". It is 0 for nearly every name.
	Shift int
}

// LookupRegister returns the register that name stands for in the assembler of
// machine m and class c; ok is false if there is none, or no grammar for m.
// The name is without the assembler's '%' or '$', as in an [Arg].
func LookupRegister(m elf.Machine, c elf.Class, name string) (r Register, ok bool) {
	if m == elf.EM_X86_64 && amd64General(&r, name) {
		return r, true
	}
	switch m {
	case elf.EM_X86_64:
		return amd64Register(name)
	case elf.EM_386:
		return i386Register(name)
	case elf.EM_AARCH64:
		return arm64Register(name)
	case elf.EM_ARM:
		return armRegister(name)
	case elf.EM_PPC64, elf.EM_PPC:
		return ppcRegister(name, wordSize(c))
	case elf.EM_S390:
		return s390xRegister(name, wordSize(c))
	case elf.EM_RISCV:
		return riscvRegister(name, wordSize(c))
	case elf.EM_MIPS:
		return mipsRegister(name, wordSize(c))
	case elf.EM_LOONGARCH:
		return loongarchRegister(name, wordSize(c))
	}
	return Register{}, false
}

// generalSize returns the size of a general register in bytes. It is not
// always that of an address: x32 and arm64's ILP32 have 8 and 4.
func generalSize(m elf.Machine, c elf.Class) int {
	switch m {
	case elf.EM_X86_64, elf.EM_AARCH64:
		return 8
	case elf.EM_386, elf.EM_ARM:
		return 4
	}
	return wordSize(c)
}

// pairOf returns the register in which compilers continue a value that is too
// wide for r: the next in the order of their register numbers. It is empty if
// that one cannot hold data.
func pairOf(m elf.Machine, r Register) string {
	if r.Kind != GeneralRegister {
		return ""
	}
	switch m {
	case elf.EM_X86_64:
		return amd64Pair(r.DWARF)
	case elf.EM_386:
		return i386Pair(r.Name)
	case elf.EM_AARCH64:
		if r.DWARF < 30 {
			return xNames[r.DWARF+1]
		}
	case elf.EM_ARM:
		if r.DWARF < 12 {
			return rNames[r.DWARF+1]
		}
	case elf.EM_S390:
		if r.DWARF < 15 {
			return rNames[r.DWARF+1]
		}
	case elf.EM_RISCV:
		if r.DWARF < 31 {
			return riscvNames[r.DWARF+1]
		}
	case elf.EM_PPC64, elf.EM_PPC, elf.EM_MIPS, elf.EM_LOONGARCH:
		if r.DWARF < 31 {
			return rNames[r.DWARF+1]
		}
	}
	return ""
}

// rNames and xNames are the names of numbered registers, here once so that no
// lookup has to make one.
var (
	rNames = [32]string{
		"r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7",
		"r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
		"r16", "r17", "r18", "r19", "r20", "r21", "r22", "r23",
		"r24", "r25", "r26", "r27", "r28", "r29", "r30", "r31",
	}
	xNames = [31]string{
		"x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7",
		"x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15",
		"x16", "x17", "x18", "x19", "x20", "x21", "x22", "x23",
		"x24", "x25", "x26", "x27", "x28", "x29", "x30",
	}
)

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

// vector returns the vector register N of a file that is called prefix, for a
// name that covers its lowest size bytes.
func vector(prefix string, n, dwarf, size int) (Register, bool) {
	return Register{Name: prefix + strconv.Itoa(n), Kind: VectorRegister, DWARF: dwarf, Size: size}, true
}
