package event

import (
	"cmp"
	"math"
	"slices"

	"github.com/go-usdt/usdt/reader"
)

// Value is a number, or a string or bytes that belong to a [View]. Unlike the Value of
// an [Arg], it takes no allocation, and is valid as long as the view.
type Value struct {
	// Kind is Uint (also for addresses), Int, Bool, Float, String or Bytes, and Other
	// for structs, arrays and slices. It is 0 if there is no value: for a followed
	// pointer that points to nothing, and if Err says why.
	Kind reader.FieldKind
	// Meaning is what an Int, or Bytes, stands for.
	Meaning reader.Meaning
	// Err is as in Arg.
	Err error

	bits uint64
	data []byte
}

// NumberValue returns a Value of the number in the low size bytes of bits, as memory
// holds it. size is 1, 2, 4 or 8; for a Float 4 or 8. Kinds other than Int, Bool and
// Float give a Uint. The compiler inlines NumberValue into the decoders of events.
func NumberValue(kind reader.FieldKind, meaning reader.Meaning, bits uint64, size uint8) Value {
	if kind > reader.Float {
		kind = reader.Uint
	}
	return Value{Kind: kind, Meaning: meaning, bits: widen(bits, kind, size)}
}

// BytesValue returns a Value of bytes or, for any other kind, of a string. err says why
// data is incomplete; nil means that it is complete.
func BytesValue(kind reader.FieldKind, meaning reader.Meaning, data []byte, err error) Value {
	if kind != reader.Bytes {
		kind = reader.String
	}
	return Value{Kind: kind, Meaning: meaning, Err: err, data: data}
}

// TruncatedValue is like BytesValue for the beginning of data that is too long. Text
// does not end within a character.
func TruncatedValue(kind reader.FieldKind, meaning reader.Meaning, data []byte) Value {
	t := recordString{bytes: data, err: truncation{kept: uint64(len(data))}}
	if kind != reader.Bytes {
		t.cut()
	}
	return BytesValue(kind, meaning, t.bytes, t.err)
}

// Uint returns an unsigned integer, address or bool, 0 for other values.
func (v Value) Uint() uint64 {
	if v.Kind == reader.Uint || v.Kind == reader.Bool {
		return v.bits
	}
	return 0
}

// Int returns a signed integer, 0 for other values.
func (v Value) Int() int64 {
	if v.Kind == reader.Int {
		return int64(v.bits)
	}
	return 0
}

// Float returns a floating-point number, 0 for other values.
func (v Value) Float() float64 {
	if v.Kind == reader.Float {
		return math.Float64frombits(v.bits)
	}
	return 0
}

// Bool reports whether the value is a bool that is true.
func (v Value) Bool() bool { return v.Kind == reader.Bool && v.bits != 0 }

// Bytes returns a string or bytes without copying them: the bytes of a view are valid until
// the next event. It returns nil for other values.
func (v Value) Bytes() []byte { return v.data }

// Any returns the value as the Value and Err of an [Arg], which may be kept. It
// copies strings and bytes, and converts values that stand for a [Hex],
// [time.Duration], [time.Time] or [netip.Addr]. It returns nil for structs, arrays
// and slices.
func (v Value) Any() (any, error) {
	switch v.Kind {
	case reader.Uint:
		return v.bits, v.Err
	case reader.Int:
		n, err := meaningOfInt(v.Meaning, int64(v.bits))
		return n, cmp.Or(v.Err, err)
	case reader.Bool:
		return v.bits != 0, v.Err
	case reader.Float:
		return math.Float64frombits(v.bits), v.Err
	case reader.String:
		return string(v.data), v.Err
	case reader.Bytes:
		if a, ok := addressOf(v.Meaning, v.data); ok && v.Err == nil {
			return a, nil
		}
		data := slices.Clone(v.data)
		if v.Meaning == reader.Hex {
			return Hex(data), v.Err
		}
		return data, v.Err
	}
	return nil, v.Err
}

// widen returns the low size bytes of u as a number of 64 bits of the same
// kind.
func widen(u uint64, kind reader.FieldKind, size uint8) uint64 {
	unused := 64 - 8*uint(size)
	switch {
	case kind == reader.Int:
		return uint64(int64(u<<unused) >> unused)
	case kind == reader.Float && size == 4:
		return math.Float64bits(float64(math.Float32frombits(uint32(u))))
	case kind == reader.Float:
		return u
	}
	return u << unused >> unused
}
