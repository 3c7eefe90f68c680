package provider

import (
	"reflect"
	"time"
)

// Arg is the set of types that a probe's arguments can have: integers, floating-point
// numbers, bool, string and []byte, arrays of up to 64 bytes, which are identifiers, and
// types defined from them; [time.Duration] and [time.Time], which typed readers show as
// such; [IP], for a netip.Addr; and [Text], for errors and Stringers. A value of a type
// defined from time.Time or time.Duration is converted to these, which costs nothing.
//
// A tracer sees int, uint and uintptr as 64 bits. A string arrives as a pointer to a
// NUL-terminated copy of its first 8 KiB ([notes.MaxString]), a []byte or an array as a
// pointer to its bytes and their number. A duration is nanoseconds. A time is nanoseconds
// since 1970, between 1677 and 2262 (the zero time is the smallest int64). An address is a
// pointer to its 4 or 16 bytes and their number, which is 0 for the zero IP.
//
// Typed readers show the bytes of an array, such as a trace.TraceID or uuid.UUID, as
// hexadecimal digits, and the bytes of a slice as they are. [Hex] and [UTF8] are slices that
// are shown otherwise, and id[:] is an array as plain bytes. A net.IP is shown as an
// address, a net.HardwareAddr as digits, a json.RawMessage as text.
type Arg interface {
	orUseErrorStringerAsOrAddr |
		time.Time | IP | Text |
		~int | ~int8 | ~int16 | ~int32 | ~int64 |
		~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr |
		~float32 | ~float64 | ~bool | ~string | ~[]byte | Array
}

// orUseErrorStringerAsOrAddr stands first in Arg because compilers list the types of Arg
// where another one is used: the name says what makes an Arg of it.
type orUseErrorStringerAsOrAddr struct{ Text }

// kind is how an argument is passed.
type kind uint8

const (
	kindInt8 kind = iota
	kindInt16
	kindInt32
	kindInt64
	kindUint8
	kindUint16
	kindUint32
	kindUint64
	kindFloat32
	kindFloat64
	kindBool
	kindString
	kindBytes
	kindDuration
	kindTime
	kindAddr
	kindText
	kindHex
	kindUTF8
	kindNetIP
	kindArray // of no bytes; kindArray+n is one of n
)

// isArray reports whether an argument is an array of bytes.
func (k kind) isArray() bool { return k >= kindArray }

// counted reports whether an argument takes two slots of the note: the address and
// the length.
func (k kind) counted() bool {
	return k == kindBytes || k == kindAddr || k >= kindHex
}

// terminated reports whether an argument takes a slot with the address of
// NUL-terminated text and a hidden slot with its length.
func (k kind) terminated() bool { return k == kindString || k == kindText }

// kindInfo is what a note says about a kind.
type kindInfo struct {
	size   int // bytes of the value in its slot
	signed bool
}

// Floats are noted as integers of their size, which hold their bits: gdb gives up on
// all arguments of a probe if one is noted as a float.
var kindInfos = [...]kindInfo{
	kindInt8:    {1, true},
	kindInt16:   {2, true},
	kindInt32:   {4, true},
	kindInt64:   {8, true},
	kindUint8:   {1, false},
	kindUint16:  {2, false},
	kindUint32:  {4, false},
	kindUint64:  {8, false},
	kindFloat32: {4, false},
	kindFloat64: {8, false},
	kindBool:    {1, false},
	kindString:  {8, false}, // the pointer
	kindBytes:   {8, false}, // the pointer, and then the length

	kindDuration: {8, true},
	kindTime:     {8, true},
	kindAddr:     {8, false}, // the pointer, and then the length
	kindText:     {8, false}, // the pointer
	kindHex:      {8, false}, // as kindBytes
	kindUTF8:     {8, false},
	kindNetIP:    {8, false},
	kindArray:    {8, false}, // and all others
}

// info returns what a note says about k.
func (k kind) info() kindInfo { return kindInfos[min(k, kindArray)] }

// kindOf returns the kind of T.
func kindOf[T Arg]() kind { return kindOfType(reflect.TypeFor[T]()) }

// kindOfType returns the kind of t, which is one of the types of Arg.
func kindOfType(t reflect.Type) kind {
	switch t {
	case textType:
		return kindText
	case ipType:
		return kindAddr
	}
	switch t.Kind() {
	case reflect.Array:
		return kindArray + kind(t.Size())
	case reflect.Struct:
		return kindTime
	case reflect.Int8:
		return kindInt8
	case reflect.Int16:
		return kindInt16
	case reflect.Int32:
		return kindInt32
	case reflect.Int64:
		if t.PkgPath() == "time" && t.Name() == "Duration" {
			return kindDuration
		}
		return kindInt64
	case reflect.Int:
		return kindInt8 + log2[t.Size()]
	case reflect.Uint8:
		return kindUint8
	case reflect.Uint16:
		return kindUint16
	case reflect.Uint32:
		return kindUint32
	case reflect.Uint64:
		return kindUint64
	case reflect.Uint, reflect.Uintptr:
		return kindUint8 + log2[t.Size()]
	case reflect.Float32:
		return kindFloat32
	case reflect.Float64:
		return kindFloat64
	case reflect.Bool:
		return kindBool
	case reflect.String:
		return kindString
	}
	return kindsOfForms[formOfName(t)]
}

var kindsOfForms = [...]kind{formOfType: kindBytes, formHex: kindHex, formText: kindUTF8, formAddress: kindNetIP}

// qualifiedName returns the name of t with its package's path. Types of the standard
// library are recognized by this name, since reflect.TypeFor would make the linker
// keep all their methods.
func qualifiedName(t reflect.Type) string { return t.PkgPath() + "." + t.Name() }

// log2 leads from the size of a machine-sized integer to its kind among the sized
// ones.
var log2 = [...]kind{4: 2, 8: 3}
