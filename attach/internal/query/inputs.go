package query

import (
	"github.com/go-usdt/usdt/attach/internal/filter"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/reader"
)

// Source says where a program gets a value from.
type Source uint8

const (
	InputMissing  Source = iota // cannot be read
	InputConstant               // Value
	InputOperand                // operand number Index
	InputBlock                  // at Offset in the argument block
	InputGoTime                 // a notes.GoTimeType at Offset there
	InputGoAddr                 // a notes.GoAddrType at Offset there
	InputBytes                  // an array of Value bytes at Offset there
	InputChars                  // text in an array of Value bytes at Offset there, up to a NUL
	InputString                 // the string that String reads
	InputComputed               // what the Steps of a Part compute of its Inputs
	InputProbe                  // the index of the site
	InputElapsed                // since the start, in nanoseconds
	InputRegister               // the word at Offset in the context, plus Value
	InputStart                  // for an end: kept by its start, at Offset in what it keeps
	InputStack                  // the hash of the stack, see StackHash
)

// Input is a value that a program uses itself, as opposed to one that it records.
// Inputs are comparable.
type Input struct {
	Source  Source
	Kind    reader.FieldKind
	Meaning reader.Meaning
	Size    uint8 // bytes of a number
	Value   uint64
	Index   int
	Offset  uint32
	String  record.String
	// Widened says that the number has the other sign at the site, or as a floating-point number
	// 4 bytes: its Kind and Size are those of all sites, see Join.
	Widened bool
}

// Elapsed is the value of an end.
var Elapsed = Input{Source: InputElapsed, Kind: reader.Uint, Size: 8}

// InBlock reports whether the input lies at Offset in the argument block.
func (in *Input) InBlock() bool {
	return in.Source >= InputBlock && in.Source <= InputChars
}

// IsString reports whether the input is a string or bytes.
func (in *Input) IsString() bool { return in.Kind == reader.String || in.Kind == reader.Bytes }

// FilterKind returns the input's kind in conditions.
func (in *Input) FilterKind() filter.Kind {
	switch in.Meaning {
	case reader.Duration:
		return filter.Duration
	case reader.Time:
		return filter.Time
	case reader.Address:
		return filter.Address
	case reader.NetIP:
		return filter.NetIP
	case reader.Hex:
		return filter.Hex
	}
	switch in.Kind {
	case reader.Int:
		return filter.Int
	case reader.Bool:
		return filter.Bool
	case reader.Float:
		return filter.Float
	case reader.String, reader.Bytes:
		return filter.String
	}
	return filter.Uint
}
