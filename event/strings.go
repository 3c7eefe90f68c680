package event

import (
	"encoding/binary"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/reader"
)

// recordString is a string of a record.
type recordString struct {
	bytes []byte // nil if it could not be read
	err   error
}

// cut removes an incomplete character at the end of a truncated string.
func (t *recordString) cut() {
	err, ok := t.err.(truncation)
	if !ok {
		return
	}
	if whole := wholeRunes(t.bytes); len(whole) < len(t.bytes) {
		err.kept = uint64(len(whole))
		t.bytes, t.err = whole, err
	}
}

// narrow makes UTF-8 of UTF-16.
func (t *recordString) narrow() {
	units := make([]uint16, len(t.bytes)/2)
	for i := range units {
		units[i] = binary.NativeEndian.Uint16(t.bytes[2*i:])
	}
	if n := len(units); t.err != nil && n > 0 && units[n-1]&0xfc00 == 0xd800 {
		units = units[:n-1] // the half of a character
	}
	text := make([]byte, 0, len(t.bytes))
	for _, r := range utf16.Decode(units) {
		text = utf8.AppendRune(text, r)
	}
	t.bytes = text
}

// wholeRunes returns a truncated string without an incomplete character at its end, if
// the string is UTF-8 there.
func wholeRunes(b []byte) []byte {
	for i := 1; i < min(utf8.UTFMax, len(b)+1); i++ {
		if c := b[len(b)-i]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(b[len(b)-i:]) {
				return b[:len(b)-i]
			}
			break
		}
	}
	return b
}

// setStrings finds the strings behind the fixed part of the record.
func (r *reading) setStrings(l *record.Layout) error {
	limit := uint64(l.Limit)
	bit := l.FirstString()
	rest := r.rec[l.FixedSize():]
	for i, str := range l.Strings {
		// A pointer or length that could not be read is zero, and nothing is copied
		// without an error.
		if r.failed&(1<<(bit+i)) != 0 || str.Sized && r.failed&(1<<str.Region) != 0 {
			r.strings = append(r.strings, recordString{err: r.stringError(l, &str)})
			continue
		}
		var t recordString
		var have, keep uint64
		if str.Sized || str.Counted {
			length := stringLength(l, r.rec, &str)
			most := limit / uint64(str.Width())
			have = min(length, most) * uint64(str.Width())
			keep = have
			if length > most {
				t.err = truncation{kept: most, of: length, known: true, elements: str.Elem > 1}
			}
		} else {
			have = r.rec.Slot(str.Slot)
			keep = have
			if have > limit {
				keep = limit
				t.err = truncation{kept: limit}
			}
		}
		if have > uint64(len(rest)) {
			return fmt.Errorf("event of %d bytes ends within string %d of %d bytes", len(r.rec), i, have)
		}
		t.bytes, rest = rest[:keep:keep], rest[have:]
		r.strings = append(r.strings, t)
	}
	return nil
}

// stringLength returns the length of a string whose length the record holds.
func stringLength(l *record.Layout, rec record.Record, str *record.String) uint64 {
	if str.Sized {
		return binary.NativeEndian.Uint64(rec[l.BlockOffset()+int(str.Length):])
	}
	kind := reader.Uint
	if str.LengthSigned {
		kind = reader.Int
	}
	return widen(record.Number(rec[record.Slot(str.LengthSlot):], str.LengthSize), kind, str.LengthSize)
}

// stringError returns why a string could not be read, nil for a null pointer.
func (r *reading) stringError(l *record.Layout, str *record.String) error {
	if str.Sized || r.failed&(1<<str.Slot) != 0 {
		return r.fault
	}
	if r.rec.Slot(str.Slot) == 0 {
		return nil
	}
	if str.Counted && str.LengthSigned {
		if n := int64(stringLength(l, r.rec, str)); n < 0 {
			return fmt.Errorf("its length is %d", n)
		}
	}
	return r.fault
}

// truncation says how much of a value there is.
type truncation struct {
	kept, of        uint64
	known, elements bool
}

func (t truncation) Error() string {
	what := "bytes"
	if t.elements {
		what = "elements"
	}
	if t.known {
		return fmt.Sprintf("%v to %d of %d %s", ErrTruncated, t.kept, t.of, what)
	}
	return fmt.Sprintf("%v to %d %s", ErrTruncated, t.kept, what)
}

func (t truncation) Unwrap() error { return ErrTruncated }
