// Package args is the values of arguments, as package event has them of traced programs
// and package providertest of the program itself: as Go values and as JSON. It is apart
// from both, so that tests of a library need no code that reads other programs.
package args

import (
	"encoding/hex"
	"errors"
	"strings"
)

// ErrTruncated is wrapped by Arg.Err if Value holds only the beginning of a
// string, of bytes or of a slice.
var ErrTruncated = errors.New("truncated")

// ErrFault is wrapped by Arg.Err if the argument lies in memory that could not be
// read when the probe fired, because it was not mapped or not in memory at that
// moment.
var ErrFault = errors.New("memory not readable")

// ErrNil is the Err of all arguments if a probe has fired a record that is nil: a
// record is a pointer to a struct. It wraps ErrFault.
var ErrNil error = nilRecord{}

type nilRecord struct{}

func (nilRecord) Error() string { return "the record is nil" }
func (nilRecord) Unwrap() error { return ErrFault }

// Arg is one argument of an event, a field of a [Struct] or an element of a [List].
type Arg struct {
	// Name is the argument's name if the object or a table of package prototype names it.
	// Otherwise it is "arg0" to "argN", by the place in the note or among a function's
	// arguments, and "retval" for a function's result.
	Name string
	// Value is a uint64 (also for addresses), int64, float64, bool, string, []byte,
	// [Hex], [time.Duration], [time.Time] in UTC, [netip.Addr], [Struct] or [List]. It is
	// nil for a followed pointer that points to nothing, and if Err says why there is
	// no value. An untyped argument of 16 bytes, as C compilers pass structs and
	// __int128, is a Struct of its words, low and high.
	Value any
	// Err says why the value is missing or, if it wraps ErrTruncated, incomplete.
	Err error
}

// Text returns the value as plain text, for labels: a string as it is, except that U+FFFD stands for
// invalid UTF-8, and another value as in JSON, without quotes. It returns "" if there is no value.
func (a *Arg) Text() string {
	switch v := a.Value.(type) {
	case nil:
		return ""
	case string:
		return strings.ToValidUTF8(v, "\ufffd")
	}
	return strings.Trim(string(a.AppendJSON(nil)), `"`)
}

// Hex is the value of an argument that is an identifier: an array of bytes, or bytes that
// the program says to be one. It is shown as hexadecimal digits.
type Hex []byte

// String returns the digits.
func (h Hex) String() string { return hex.EncodeToString(h) }

// MarshalText returns the digits, which are the value in JSON.
func (h Hex) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, h), nil }

// Struct is the value of an argument that is a struct: its fields, in order.
type Struct []Arg

// IsNil reports whether the fields, such as the arguments of an event, belong to a record
// that is nil: the Err of each is ErrNil.
func (s Struct) IsNil() bool { return len(s) > 0 && s[0].Err == ErrNil }

// List is the value of an array or a slice: its elements, which have no names.
type List []Arg
