package query

import (
	"math"

	"github.com/go-usdt/usdt/attach/internal/filter"
	"github.com/go-usdt/usdt/internal/container"
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
	Group   container.Word // that is meant, of the control group with this id; 0 for the number itself
	// Widened says that the number has the other sign at the site, or as a floating-point number
	// 4 bytes: all sites have its Kind and Size, see Join and WidenFloat.
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
	if in.Group != 0 {
		return filter.String
	}
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

// ValueInput stands for the value of an aggregate among Inputs that have faults.
const ValueInput = 0xfffe

// Fault is an argument that a condition could not read, so that an event did not pass, or the
// value of an aggregate, so that it was lost.
type Fault struct {
	Site  uint32 // the number
	Low   uint32 // the lowest 12 bits of the address at which it is, which files have as well; of records 0
	Input int    // of Signature.Inputs, or ValueInput
	Mark  uint8  // why
}

// Order returns the order key of a value: a number whose unsigned order is the value's.
func (in *Input) Order(bits uint64) uint64 {
	switch in.Kind {
	case reader.Float:
		return uint64(filter.FloatOrder(bits)) ^ 1<<63
	case reader.Int:
		return bits ^ 1<<63
	}
	return bits
}

// Wide returns the bits of a value, and of a floating-point number the bits that it has as one of 64 bits: a
// number of 32 bits has them in its upper half.
func (in *Input) Wide(bits uint64) uint64 {
	if in.Kind == reader.Float && in.Size == 4 {
		return math.Float64bits(float64(math.Float32frombits(uint32(bits >> 32))))
	}
	return bits
}
