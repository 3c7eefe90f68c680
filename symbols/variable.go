package symbols

import (
	"github.com/go-usdt/usdt/internal/held"
	"github.com/go-usdt/usdt/symbols/internal/debuginfo"
)

// VariableKind says what the value of a variable is.
type VariableKind uint8

const (
	Unsigned VariableKind = iota // also addresses
	Signed
	Boolean
	Float
	Text // the address of text, up to a NUL or as long as another variable says
)

// NamedValue is a name of a number: an enumerator, a constant of Go, or a type of what is in an
// interface.
type NamedValue = debuginfo.NamedValue

// Variable is a variable of a program at an address of its code, or a part of one.
type Variable struct {
	Name, Type string
	Argument   bool // of the function, or a part of one
	Global     bool // of the whole unit
	Behind     bool // a pointer
	Kind       VariableKind
	Size       int    // bytes; of Text, its address's
	Length     string // the variable with the length of Text, "" for text up to a NUL
	Err        error  // why there is no value, nil if there is one
	// Count is the number of elements, Stride bytes each, of an array, whose Kind they have, and for
	// Text the number of bytes that the value itself has, up to a NUL. 0 for other values.
	Count, Stride int
	Named         []NamedValue // what its values are called, of an enumeration, of constants of Go or of types in an interface

	// Interface says that the value is the first word of an interface of Go, with Relative minus the
	// distance from the addresses of the file to those where it is loaded.
	Interface, Relative bool
	// Held is where the value is if it is in what an interface holds; the places below say nothing then.
	Held *held.Place

	// The value is Offset or, with a register, the sum of the two; in Memory, that is its
	// address, and without a register an address in the file. With Follow, an address is
	// there instead, and the value at that address plus FollowOffset.
	Register       int // its number in DWARF, -1 for none
	Offset         int64
	Memory, Follow bool
	FollowOffset   int64
	Bit            int // of the register, with which the value begins
	// Bits is how many bits of the Size bytes a bit field has, above BitsAbove others; 0 for other values.
	Bits, BitsAbove int
}

// newVariable returns v as this package shows it.
func newVariable(v *debuginfo.Variable) Variable {
	out := Variable{Name: v.Name, Type: v.Type, Argument: v.Argument, Global: v.Global, Behind: v.Behind, Bit: int(v.Place.Bit), Bits: int(v.Bits), BitsAbove: int(v.BitsAbove), Size: int(min(v.Size, 1<<30)), Length: v.Length, Err: v.Err, Named: v.Named, Interface: v.Interface}
	out.Count, out.Stride = int(v.Count), int(v.Stride)
	encoding := v.Encoding
	if encoding == debuginfo.Array {
		encoding = v.Element
	}
	switch encoding {
	case debuginfo.Signed, debuginfo.SignedChar:
		out.Kind = Signed
	case debuginfo.Boolean:
		out.Kind = Boolean
	case debuginfo.Float:
		out.Kind = Float
	case debuginfo.Text, debuginfo.Counted, debuginfo.Chars:
		out.Kind = Text
	}
	out.Register, out.Offset, out.Memory = v.Place.Number()
	out.Follow, out.FollowOffset = v.Place.Follow, v.Place.FollowOff
	return out
}
