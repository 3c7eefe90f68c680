package notes

import "fmt"

// Kind says where an argument's value is.
type Kind uint8

const (
	// Imm is a constant: Arg.Value, or the address of Arg.Symbol plus Disp.
	Imm Kind = iota + 1
	// Reg is a register: Arg.Reg, and Arg.Pair for the upper half of a value
	// wider than a register.
	Reg
	// Mem is memory at Base + Index*Scale + Disp (+ Symbol), each part optional.
	Mem
)

func (k Kind) String() string {
	switch k {
	case Imm:
		return "imm"
	case Reg:
		return "reg"
	case Mem:
		return "mem"
	}
	return "invalid"
}

// Arg is one argument of a probe, decoded from its note's argument string.
//
// Register names are as the program wrote them, without the '%' or '$' of the
// assembler; [LookupRegister] returns what they stand for. If Err is not nil, only
// Text, Offset and what was understood before the error are meaningful.
type Arg struct {
	Text   string // the argument as the note has it
	Offset int    // byte offset of Text in the argument string
	Err    error  // a *SyntaxError if the argument is not understood

	// Size is the value's size in bytes: 1, 2, 4, 8 or 16, or 12 for a long double of
	// i386. The register's name may be that of a wider or narrower part; Size is what
	// counts. If the note has no size, Size is that of the register, or of an
	// address.
	Size   int
	Signed bool // '-' before the size
	Float  bool // 'f' behind the size: the bits are an IEEE 754 number

	Kind Kind

	// Value is an immediate's bits, sign-extended to 64. For the highest unsigned
	// int, the note may have 4@$-1 or 4@$4294967295; [Arg.Widen] makes them equal.
	// For an immediate written as a floating-point number, Value is that number's
	// IEEE 754 bits in Size bytes.
	Value uint64

	Reg string // Kind Reg: the register
	// Pair is the register that holds the rest of a value wider than Reg, by
	// the convention of the architecture's compilers: the upper half on a
	// little-endian machine, the lower half on a big-endian one. It is empty
	// if Reg is wide enough, and if no register can follow it.
	Pair string

	// Kind Mem: the operand is at Base + Index*Scale + Disp (+ Symbol). On
	// x86-64, registers of 32 bits (x32) make an address that wraps at 32.
	// Base "rip" is the address of the site; with a Symbol, sym+K(%rip), the
	// operand is simply at Symbol + Disp.
	Segment string // x86: "fs" or "gs"; usually empty
	Base    string // the base register; may be empty
	Index   string // the index register; may be empty
	Scale   int    // factor of Index, a power of two; 1 if the note has none, 0 without an index
	Extend  string // arm64: extension of Index's lower 32 bits ("sxtw", "uxtw"); empty for none
	Disp    int64  // also the addend of an Imm symbol

	Symbol string // symbol whose address is part of the operand
	// Reloc says how Symbol enters the operand, as the note has it. It is empty for
	// the symbol's address; otherwise it is the text behind the '@' on x86
	// ("GOTPCREL", "GOTOFF", "GOT", "tpoff", "ntpoff") and PowerPC ("toc@l"), "lo12"
	// for arm64's :lo12:sym, "lo" or "tprel_lo" for %lo(sym) on the other RISC
	// machines.
	Reloc string
}

// Widen returns the argument's value from bits, whose low Size bytes hold it,
// extended to 64 bits, by its sign if the argument is signed. Bits may be an
// immediate's Value, a register, or the contents of memory.
func (a *Arg) Widen(bits uint64) uint64 {
	if a.Size < 1 || a.Size > 7 {
		return bits
	}
	unused := 64 - 8*a.Size
	if a.Signed {
		return uint64(int64(bits<<unused) >> unused)
	}
	return bits << unused >> unused
}

// SyntaxError says why an argument was not understood.
type SyntaxError struct {
	Arg    string // the argument's text
	Offset int    // byte offset of the error in the whole argument string
	Msg    string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("argument %q: %s (at byte %d of the argument string)", e.Arg, e.Msg, e.Offset)
}
