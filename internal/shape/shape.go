package shape

import (
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/reader"
)

// Source says how the value of a Field is found.
type Source uint8

const (
	FromNowhere  Source = iota // Err says why
	FromConstant               // Constant
	FromRecord                 // integer, float, bool or address at Offset
	FromRaw                    // Count bytes at Offset, as they are
	FromChars                  // text at Offset, up to a NUL within Count bytes
	FromString                 // string number Index

	FromStruct  // Parts
	FromArray   // Count times Parts[0], from Offset on
	FromCounted // as many, but no more than Length says
	FromSlice   // Parts[0] as often as string number Index has room for it
	FromPointer // the address at Offset leads to Parts[0]

	FromGoTime // a notes.GoTimeType at Offset
	FromGoAddr // a notes.GoAddrType at Offset
)

// Field says where an argument's value, or a part of it, lies in a record.
type Field struct {
	Name   string
	Err    error // why there is no value; nil of most
	Source Source
	Kind   reader.FieldKind
	// Meaning is that of a number or of bytes.
	Meaning reader.Meaning
	Size    uint8 // bytes of a number
	Read    int   // of what it lies in: a bit of record.Layout.Failed
	Offset  int   // in the record
	Index   int   // in Layout.Strings

	Constant any    // as the Value of an event.Arg
	Bits     uint64 // those of Constant

	Parts   []Field
	Count   int
	Stride  int // from one element to the next
	Texts   int // strings of each element
	Whole   int // elements whose strings are read
	Length  int // FromCounted: offset in the record
	Counted int // FromCounted: the read of where Length lies
}

// IPv4Slot holds what notes.IPv4Register says, if Shape.IPv4.
const IPv4Slot = 0

// Shape says how the records of a site are decoded.
type Shape struct {
	Layout *record.Layout
	Fields []Field
	// Looked are read but are no arguments of the event: conditions and aggregates
	// look at them.
	Looked []Field
	// Named says that arguments are found by their names only, not by their places.
	Named bool
	// IPv4 says that the slot IPv4Slot tells IPv4 addresses from IPv6.
	IPv4 bool
}
