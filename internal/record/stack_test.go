package record_test

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/record"
)

// TestStack checks which addresses are read of a record's end.
func TestStack(t *testing.T) {
	header := make([]byte, record.HeaderSize+3) // and a string of 3 bytes
	words := func(w ...int64) []byte {
		b := slices.Clone(header)
		for _, v := range w {
			b = binary.NativeEndian.AppendUint64(b, uint64(v))
		}
		return b
	}
	for _, test := range []struct {
		name  string
		entry bool
		rec   []byte
		want  []uint64
		err   string
	}{
		{"three", false, words(0x10, 0x20, 0x30, 24), []uint64{0x10, 0x20, 0x30}, ""},
		{"none", false, words(0), nil, ""},
		{"as Go writes it", false, record.AppendStack(slices.Clone(header), []uintptr{1, 2}), []uint64{1, 2}, ""},
		{"return address", true, words(0x10, 0x30, 0x20, 16), []uint64{0x10, 0x20, 0x30}, ""},
		{"return address that the kernel has also found", true, words(0x10, 0x20, 0x20, 16), []uint64{0x10, 0x20}, ""},
		{"only the return address", true, words(0x10, 0x20, 8), []uint64{0x10, 0x20}, ""},
		{"unknown return address", true, words(0x10, 0x30, 0, 16), []uint64{0x10, 0x30}, ""},
		{"refused", false, words(-14), nil, "bad address"},
		{"refused at an entry", true, words(0x20, -14), nil, "bad address"},
		{"too large", false, words(1, 2, 24), nil, "ends within"},
		{"huge", false, words(1, 1<<62), nil, "ends within"},
		{"odd", false, words(1, 2, 12), nil, "ends within"},
		{"empty", false, nil, nil, "ends within"},
		{"only a header", true, header[:record.HeaderSize], nil, "ends within"},
	} {
		t.Run(test.name, func(t *testing.T) {
			st := record.Stack{Most: 10, Entry: test.entry}
			got, err := st.Append(nil, test.rec)
			if !slices.Equal(got, test.want) || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("got %#x, %v, want %#x, %q", got, err, test.want, test.err)
			}
		})
	}
}

// TestShortenStack checks that the stack stays behind strings that get shorter.
func TestShortenStack(t *testing.T) {
	l := &record.Layout{Block: 16, Limit: 100, Strings: []record.String{{Sized: true, Pointer: 0, Length: 8}}, Stack: record.Stack{Most: 4}}
	rec := make([]byte, l.FixedSize())
	binary.NativeEndian.PutUint64(rec[l.BlockOffset()+8:], 20)
	rec = append(rec, strings.Repeat("x", 20)...)
	rec = record.AppendStack(rec, []uintptr{7, 8, 9})
	rec = l.Shorten(rec, 5)
	if want := l.FixedSize() + 5 + 4*8; len(rec) != want {
		t.Errorf("%d bytes, want %d", len(rec), want)
	}
	if got, err := l.Stack.Append(nil, rec); !slices.Equal(got, []uint64{7, 8, 9}) {
		t.Errorf("got %v, %v, want the three addresses", got, err)
	}
}

// TestCopy checks which bytes are taken from a record's end.
func TestCopy(t *testing.T) {
	st := record.Stack{Most: 10, Copied: 32, Registers: 16}
	header := make([]byte, record.HeaderSize)
	of := func(body string, size uint64) []byte {
		return binary.NativeEndian.AppendUint64(append(slices.Clone(header), body...), size)
	}
	for _, test := range []struct {
		rec              []byte
		registers, stack string
		ok               bool
	}{
		{of("registers of 16.stack", 21), "registers of 16.", "stack", true},
		{of("stringregisters of 16.", 16), "registers of 16.", "", true},
		{of("registers of 16.", 15), "", "", false},
		{of("registers of 16.", 17), "", "", false},
		{of("registers of 16.", 1<<63), "", "", false},
		{header, "", "", false},
		{nil, "", "", false},
	} {
		registers, stack, err := st.Copy(test.rec)
		if string(registers) != test.registers || string(stack) != test.stack || (err == nil) != test.ok {
			t.Errorf("%q: got %q, %q, %v, want %q, %q", test.rec, registers, stack, err, test.registers, test.stack)
		}
	}
}
