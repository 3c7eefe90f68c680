package shape

import (
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/reader"
)

// Source says how to find the value of a Field.
type Source uint8

const (
	FromNowhere  Source = iota // Err says why
	FromConstant               // Constant
	FromRecord                 // integer, float, bool or address at Offset
	FromRaw                    // Count bytes at Offset, as they are
	FromChars                  // a string at Offset, up to a NUL within Count bytes
	FromString                 // string number Index

	FromStruct  // Parts
	FromArray   // Count times Parts[0], from Offset on
	FromCounted // as FromArray, but no more elements than Length says
	FromSlice   // Parts[0] as often as string number Index has room for it
	FromPointer // the address at Offset leads to Parts[0]

	FromGoTime // a notes.GoTimeType at Offset
	FromGoAddr // a notes.GoAddrType at Offset
)

// Field says where an argument's value, or a part of it, lies in a record.
type Field struct {
	Name   string
	Err    error // why there is no value; usually nil
	Source Source
	Kind   reader.FieldKind
	// Meaning is the meaning of a number or of bytes.
	Meaning reader.Meaning
	Size    uint8 // bytes of a number
	Read    int   // the read that it lies in: a bit of record.Layout.Failed
	Offset  int   // in the record
	Index   int   // in Layout.Strings

	Constant any    // as the Value of an event.Arg
	Bits     uint64 // the bits of Constant

	Parts   []Field
	Count   int
	Stride  int  // from one element to the next
	Strings int  // strings of each element
	Whole   int  // elements whose strings are read
	Length  int  // FromCounted: offset in the record
	Counted int  // FromCounted: the read of where Length lies
	Wide    bool // FromString: UTF-16, whose length counts units of two bytes
}

// IPv4Slot holds the value that notes.IPv4Register describes, if Shape.IPv4 is true.
const IPv4Slot = 0

// Shape says how to decode the records of a site.
type Shape struct {
	Group  int // the slot of the id of the task's control group, plus 1; 0 if records do not have it
	Layout *record.Layout
	Fields []Field
	// Unshown has fields that conditions and aggregates read but that are not
	// arguments of the event.
	Unshown []Field
	// Places has the names of the arguments by their places; nil if Fields has them in
	// their order.
	Places []string
	// Named reports that arguments are found by their names only, not by their
	// places.
	Named bool
	// IPv4 reports that the slot IPv4Slot distinguishes IPv4 addresses from IPv6.
	IPv4 bool
}
