package btfgen

// Type is a C type: an [Int], [Float], [Pointer], [Const], [Typedef], [Array] or
// *[Struct]. Types are compared with ==. Two structs are equal if they are the same
// one, other types if they are made of equal types.
type Type interface {
	// Size returns the number of bytes of a value.
	Size() uint64
}

// Encoding says what an integer holds (include/uapi/linux/btf.h: BTF_INT_SIGNED …).
type Encoding uint8

const (
	Unsigned Encoding = 0
	Signed   Encoding = 1
	Char     Encoding = 2
	Bool     Encoding = 4
)

// Int is an integer type of Bytes bytes.
type Int struct {
	Name     string
	Bytes    uint32
	Encoding Encoding
}

// Float is a floating-point type of Bytes bytes.
type Float struct {
	Name  string
	Bytes uint32
}

// Pointer is a pointer of 64 bits. A nil To is void.
type Pointer struct{ To Type }

// Const is a type whose values are read-only. A nil Of is void.
type Const struct{ Of Type }

// Typedef is another name for a type.
type Typedef struct {
	Name string
	Of   Type
}

// Array is an array of Len elements.
type Array struct {
	Elem Type
	Len  uint32
}

// Struct is a struct type. Its members may point to itself.
type Struct struct {
	Name    string // empty for none
	Bytes   uint32
	Members []Member
}

// Member is a field of a struct, Offset bytes from its start.
type Member struct {
	_      [0]func() // without a function that compares two
	Name   string
	Type   Type
	Offset uint32
}

func (t Int) Size() uint64     { return uint64(t.Bytes) }
func (t Float) Size() uint64   { return uint64(t.Bytes) }
func (t Pointer) Size() uint64 { return 8 }
func (t Const) Size() uint64   { return size(t.Of) }
func (t Typedef) Size() uint64 { return size(t.Of) }
func (t Array) Size() uint64   { return uint64(t.Len) * size(t.Elem) }
func (t *Struct) Size() uint64 { return uint64(t.Bytes) }

// size returns the size of t, 0 for void.
func size(t Type) uint64 {
	if t == nil {
		return 0
	}
	return t.Size()
}

// IsSigned reports whether t is a signed integer or a typedef of one.
func IsSigned(t Type) bool {
	switch t := t.(type) {
	case Int:
		return t.Encoding&Signed != 0
	case Const:
		return IsSigned(t.Of)
	case Typedef:
		return IsSigned(t.Of)
	}
	return false
}
