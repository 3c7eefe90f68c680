package filter_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/attach/internal/filter"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/reader"
)

// TestHolds evaluates conditions on values that are missing, cut or NaN. The
// tests of package attach check that programs in the kernel do the same.
func TestHolds(t *testing.T) {
	number := func(kind reader.FieldKind, bits uint64, size uint8) event.Value {
		return event.NumberValue(kind, reader.Plain, bits, size)
	}
	text := func(s string, err error) event.Value {
		return event.BytesValue(reader.String, reader.Plain, []byte(s), err)
	}
	long := strings.Repeat("x", filter.MaxString)
	for _, test := range []struct {
		where string
		value event.Value
		want  bool
	}{
		{"u == 0", event.Value{}, false},
		{"u != 0", event.Value{}, false},
		{"!(u == 0)", event.Value{}, true},
		{"u != 0 || !(u > 1)", event.Value{Err: event.ErrFault}, true},
		{`s != "x"`, event.Value{Err: event.ErrFault}, false},
		{"u != 0", event.Value{Kind: reader.Other}, false},
		{"u > 5", number(reader.Uint, math.MaxUint64, 8), true},
		{"u > -1", number(reader.Uint, math.MaxUint64, 8), true},
		{"i < 0", number(reader.Int, 0xffff_fffe, 4), true},
		{"i == -2", number(reader.Int, 0xffff_fffe, 4), true},
		{"i < 18446744073709551615", number(reader.Int, 0xffff_fffe, 4), true},
		{"b", number(reader.Bool, 2, 1), true},
		{"b == false", number(reader.Bool, 0, 1), true},
		{"f == 0", number(reader.Float, 1<<63, 8), true}, // -0
		{"f != 0", number(reader.Float, math.Float64bits(math.NaN()), 8), false},
		{"f < 0.1", number(reader.Float, math.Float64bits(math.Inf(-1)), 8), true},
		{"g == 0.1", number(reader.Float, uint64(math.Float32bits(0.1)), 4), true},
		{"g >= 0", number(reader.Float, uint64(math.Float32bits(float32(math.NaN()))), 4), false},
		{`s == "` + long + `"`, text(long, nil), true},
		{`s == "` + long + `"`, text(long+"x", nil), false},
		{`s != "` + long + `"`, text(long, event.ErrTruncated), true},
		{`s ~ "*y"`, text(long+"y", nil), false}, // beyond the bytes that are compared
		{`s ~ "*y*"`, text(long+"y", nil), false},
		{`s ~ "*x*"`, text(long+"y", nil), true},
		{`s ~ "x*"`, text("x", event.ErrTruncated), true},
		{`s ~ "*x"`, text("x", event.ErrTruncated), false},
		{`s == ""`, text("", event.ErrTruncated), false},
		{`s[:3] == "abc"`, text("abcd", nil), true},
		{`s[:3] == "abc"`, text("abc", nil), true},
		{`s[:3] != "abc"`, text("ab", nil), true},
		{`s[:3] == "abc"`, text("abc", event.ErrTruncated), true},
		{`s[:3] == "ab"`, text("ab", event.ErrTruncated), false},
		{`s[:3] ~ "*d"`, text("abcd", nil), false},
		{"u % 7 == 4", number(reader.Uint, 25, 8), true},
		{"u / (u - 25) == 1", number(reader.Uint, 25, 8), false}, // divides by zero
		{"!(u / (u - 25) == 1)", number(reader.Uint, 25, 8), true},
		{"u / (u - 25) != 1", number(reader.Uint, 25, 8), false},
		{"u + 1 != 0", event.Value{Err: event.ErrFault}, false},
		{"i * 3 == -6", number(reader.Int, 0xffff_fffe, 4), true},
		{`s == "x"`, text("x", errors.New("not whole, for another reason")), true},
	} {
		e, err := filter.Parse(test.where)
		if err != nil {
			t.Fatal(err)
		}
		c, err := e.Check(lookup)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Holds(func(filter.Value) filter.Operand { return operandOf(test.value) }); got != test.want {
			t.Errorf("%.40s of %+v: got %t, want %t", test.where, test.value, got, test.want)
		}
	}
}

// operandOf returns a decoded value as an operand.
func operandOf(v event.Value) filter.Operand {
	switch v.Kind {
	case reader.Uint, reader.Bool:
		return filter.NumberOperand(v.Uint())
	case reader.Int:
		return filter.NumberOperand(uint64(v.Int()))
	case reader.Float:
		return filter.NumberOperand(math.Float64bits(v.Float()))
	case reader.String, reader.Bytes:
		return filter.StringOperand(v.Bytes(), errors.Is(v.Err, event.ErrTruncated))
	}
	return filter.Operand{}
}
