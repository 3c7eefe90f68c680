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
// Register names stand as the program wrote them, without a '%' in front;
// [LookupRegister] tells what they are. If Err is not nil only Text, Offset
// and what was understood before the error are meaningful.
type Arg struct {
	Text   string // the argument as it stands in the note
	Offset int    // byte offset of Text in the argument string
	Err    error  // a *SyntaxError if the argument is not understood

	Size   int  // bytes: 1, 2, 4, 8, 16 (or what the producer wrote)
	Signed bool // '-' before the size
	Float  bool // 'f' behind the size: the bits are an IEEE 754 number

	Kind Kind

	// Value is an immediate's bits, sign-extended to 64.
	Value uint64

	Reg  string // Kind Reg: the register
	Pair string // Kind Reg: the register with the upper half, by convention of the architecture; usually empty

	Segment string // Kind Mem, x86: "fs" or "gs"; usually empty
	Base    string // Kind Mem: the base register, may be empty
	Index   string // Kind Mem: the index register, may be empty
	Scale   int    // Kind Mem: factor of Index, 1 without one written; 0 without an index
	Extend  string // Kind Mem, arm64: extension of Index ("sxtw", "uxtw"), empty for none
	Disp    int64  // Kind Mem, or addend of an Imm symbol

	Symbol string // symbol whose address is a part of the operand
	Reloc  string // how Symbol enters: "" its address, or "GOTPCREL", "GOTOFF", "GOT", "tpoff", "ntpoff" as written after '@'
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
