package event_test

import (
	"bytes"
	"errors"
	"math"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// TestNumbers checks numbers of each size and kind, as values and as kept by Any.
func TestNumbers(t *testing.T) {
	for _, test := range []struct {
		kind    reader.FieldKind
		meaning reader.Meaning
		bits    uint64
		size    uint8
		want    any
	}{
		{reader.Uint, 0, 0xffff_ff80, 1, uint64(0x80)},
		{reader.Uint, 0, math.MaxUint64, 8, uint64(math.MaxUint64)},
		{reader.Other, 0, 0xffff_ffff_0000_0001, 4, uint64(1)},
		{reader.Int, 0, 0x80, 1, int64(-128)},
		{reader.Int, 0, 0xffff, 2, int64(-1)},
		{reader.Int, 0, 1 << 31, 4, int64(math.MinInt32)},
		{reader.Bool, 0, 0x100, 1, false},
		{reader.Bool, 0, 2, 1, true},
		{reader.Float, 0, uint64(math.Float32bits(-1.5)), 4, -1.5},
		{reader.Float, 0, math.Float64bits(0.1), 8, 0.1},
		{reader.Int, reader.Duration, 1500, 8, 1500 * time.Nanosecond},
		{reader.Int, reader.Time, 1, 8, time.Unix(0, 1).UTC()},
		{reader.Int, reader.Time, 1 << 63, 8, time.Time{}}, // notes.ZeroTime
	} {
		v := event.NumberValue(test.kind, test.meaning, test.bits, test.size)
		if got, err := v.Any(); err != nil || got != test.want {
			t.Errorf("%+v: got %v (%T), %v", test, got, got, err)
		}
		var got any
		switch v.Kind {
		case reader.Uint:
			got = v.Uint()
		case reader.Int:
			got = v.Int()
		case reader.Bool:
			got = v.Bool()
		case reader.Float:
			got = v.Float()
		}
		if test.meaning == reader.Plain && got != test.want {
			t.Errorf("%+v: the value is %v (%T)", test, got, got)
		}
	}
	for _, ns := range []int64{notes.MinTime, notes.MaxTime} {
		if at, err := event.NumberValue(reader.Int, reader.Time, uint64(ns), 8).Any(); err == nil || !at.(time.Time).Equal(time.Unix(0, ns)) {
			t.Errorf("the time %d is %v, error %v, want one that says that it is a bound", ns, at, err)
		}
	}
}

// TestBytes checks that Any copies text and bytes, and that bytes of an address's
// length become an address and others stay bytes.
func TestBytes(t *testing.T) {
	cut := errors.New("cut")
	for _, test := range []struct {
		kind    reader.FieldKind
		meaning reader.Meaning
		data    string
		err     error
		want    any
	}{
		{reader.String, 0, "text", nil, "text"},
		{reader.String, 0, "te", cut, "te"},
		{reader.Bytes, 0, "\x00\xff", nil, []byte{0, 0xff}},
		{reader.Bytes, reader.Address, "\x0a\x00\x00\x01", nil, netip.MustParseAddr("10.0.0.1")},
		{reader.Bytes, reader.Address, "", nil, netip.Addr{}},
		{reader.Bytes, reader.Address, "\x0a\x00\x00\x01", cut, []byte{10, 0, 0, 1}},
		{reader.Bytes, reader.Address, "abc", nil, []byte("abc")},
	} {
		data := []byte(test.data)
		v := event.BytesValue(test.kind, test.meaning, data, test.err)
		if !bytes.Equal(v.Bytes(), data) || v.Uint() != 0 || v.Int() != 0 || v.Float() != 0 || v.Bool() {
			t.Errorf("%+v: the value is %+v", test, v)
		}
		got, err := v.Any()
		clear(data)
		if err != test.err || !cmp.Equal(got, test.want, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })) {
			t.Errorf("%+v: got %v (%T), %v", test, got, got, err)
		}
	}
	if v, err := (event.Value{Kind: reader.Other, Err: cut}).Any(); v != nil || err != cut {
		t.Errorf("a slice is %v, %v", v, err)
	}
}
