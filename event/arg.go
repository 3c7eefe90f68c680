package event

import "github.com/go-usdt/usdt/event/args"

// The values of arguments come from package args, which other packages share.
type (
	// Arg is one argument of an event: its name, its Value, and in Err why that is missing.
	Arg = args.Arg
	// Hex is the value of an argument that is an identifier.
	Hex = args.Hex
	// Struct is the value of an argument that is a struct: its fields, in order.
	Struct = args.Struct
	// List is the value of an array or a slice: its elements, which have no names.
	List = args.List
)

// Errors that Arg.Err wraps.
var (
	// ErrTruncated says that Value holds only the beginning of a string, of bytes or of
	// a slice.
	ErrTruncated = args.ErrTruncated
	// ErrFault says that the argument lies in memory that could not be read when the
	// probe fired, because it was not mapped or not in memory at that moment.
	ErrFault = args.ErrFault
	// ErrNil is the Err of all arguments if a probe has fired a record that is nil. It
	// wraps ErrFault.
	ErrNil = args.ErrNil
)
