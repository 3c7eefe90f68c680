package record_test

import (
	"encoding/binary"
	"testing"

	"github.com/go-usdt/usdt/internal/record"
)

// TestCapture captures a block with a pointer, two strings and a slice, from memory
// that can be read only in part.
func TestCapture(t *testing.T) {
	l := record.Layout{Slots: 1, Block: 20, Limit: 4, Strings: []record.String{
		{Sized: true, Pointer: 0, Length: 8, Region: 1}, {Slot: 0}, {Sized: true, Pointer: 0, Length: 8, Elem: 3, Region: 1},
	}}
	l.AddIndirect(record.Indirect{Pointer: 0, Size: 3})
	l.AddIndirect(record.Indirect{Pointer: 0, Length: 8, Elem: 2, Size: 8})
	memory := func(address uint64, b []byte) bool {
		if address != 0x1000 {
			b[0] = 0xee // damaged, and reported as failed
			return false
		}
		copy(b, "abcdefghijkl")
		return true
	}
	for _, test := range []struct {
		address, length uint64
		short           int // bytes that the block lacks
		failed          uint64
		pointed, slice  string
		strings         string
	}{
		// Read 0 is the slot, 1 the block, 2 and 3 the indirects, 4 to 6 the strings.
		{0x1000, 3, 0, 1 << 5, "abc\x00", "abcdef\x00\x00", "abc" + "abc"},
		{0x1000, 1 << 63, 0, 1 << 5, "abc\x00", "abcdefgh", "abcd" + "abc"},
		{0x1000, 0, 0, 1 << 5, "abc\x00", "\x00\x00", ""},
		{0x2000, 2, 0, 1<<2 | 1<<3 | 1<<4 | 1<<5 | 1<<6, "\x00\x00\x00\x00", "\x00\x00", ""},
		{0, 2, 0, 1<<2 | 1<<3 | 1<<4 | 1<<5 | 1<<6, "\x00\x00\x00\x00", "\x00\x00", ""},
		{0x1000, 3, 1, 1<<1 | 1<<2 | 1<<5, "\x00\x00\x00\x00", "\x00\x00", ""},
	} {
		block := binary.NativeEndian.AppendUint64(nil, test.address)
		block = append(binary.NativeEndian.AppendUint64(block, test.length), 1, 2, 3, 4)
		before := []byte("what was there before")
		rec := l.Capture(before, &record.Header{Site: 3}, []uint64{42}, block[:20-test.short], memory)
		if string(rec[:len(before)]) != string(before) {
			t.Fatalf("%+v: what was there is %q", test, rec[:len(before)])
		}
		r := record.Record(rec[len(before):])
		area := r[l.BlockOffset():]
		if r.Site() != 3 || r.Slot(0) != 42 || l.Failed(r) != test.failed {
			t.Errorf("%+v: site %d, slot %d, failures %b, want 3, 42, %b", test, r.Site(), r.Slot(0), l.Failed(r), test.failed)
		}
		if got := string(area[24:28]); got != test.pointed {
			t.Errorf("%+v: the pointer leads to %q, want %q", test, got, test.pointed)
		}
		if got := string(area[32 : 32+len(test.slice)]); got != test.slice {
			t.Errorf("%+v: the slice is %q, want %q", test, got, test.slice)
		}
		if got := string(r[l.FixedSize():]); got != test.strings {
			t.Errorf("%+v: strings %q, want %q", test, got, test.strings)
		}
	}
}
