package attach

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/cilium/ebpf/btf"

	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

type valueSource uint8

const (
	fromNowhere valueSource = iota // err says why
	fromConstant
	fromRecord // integer, float, bool or address at offset
	fromRaw    // count bytes at offset, as they are
	fromChars  // text at offset, up to a NUL within count bytes
	fromString // string number index

	fromStruct  // parts
	fromArray   // count times parts[0], from offset on
	fromCounted // as many, but no more than length says
	fromSlice   // parts[0] as often as string number index has room for it
	fromPointer // the address at offset leads to parts[0]

	fromGoTime // a notes.GoTimeType at offset
	fromGoAddr // a notes.GoAddrType at offset
)

// field says where an argument's value lies in a record.
type field struct {
	name   string
	err    error
	source valueSource
	kind   reader.FieldKind
	// meaning of a number or bytes
	meaning reader.Meaning
	size    uint8
	read    int // of what it lies in: a bit of record.Layout.Failed
	value   any // fromConstant
	offset  int // in the record
	index   int // in Layout.Strings

	parts   []field
	count   int
	stride  int // from one element to the next
	texts   int // strings of each element
	whole   int // elements whose strings are read
	length  int // fromCounted: offset in the record
	counted int // fromCounted: the read of where length lies

	// Of a pointer that can be followed:
	target btf.Type
	where  string // the path to it
}

// schema decodes the records of a site.
type schema struct {
	sig    *signature
	fields []field
	typed  *typedBinder // nil unless there is an argument block
	looked []field      // read but not told: what conditions and aggregates look at
	named  bool         // names count, not places
	addrs  bool         // operand ipv4Operand is what notes.IPv4Register says
}

// decode returns the arguments in the record rec.
func (s *schema) decode(rec record.Record) ([]event.Arg, error) {
	var r reading
	if err := s.read(rec, &r); err != nil || len(s.fields) == 0 {
		return nil, err
	}
	return r.all(s.fields, 0, 0), nil
}

// reading is a record that is being decoded.
type reading struct {
	rec    record.Record
	failed uint64
	texts  []text
	ipv4   uint64 // see notes.IPv4Register
}

// read prepares r for the fields of rec. It reuses the memory of r.
func (s *schema) read(rec record.Record, r *reading) error {
	if len(rec) < s.sig.FixedSize() {
		return fmt.Errorf("event of %d bytes, its fixed part alone has %d", len(rec), s.sig.FixedSize())
	}
	r.rec, r.failed = rec, s.sig.Failed(rec)
	r.texts = r.texts[:0]
	if s.addrs {
		r.ipv4 = rec.Slot(ipv4Operand)
	}
	if len(s.sig.Strings) == 0 {
		return nil
	}
	return s.readTexts(r)
}

// all returns the values of fields whose offsets are shifted by at, and the
// indices of their strings by text.
func (r *reading) all(fields []field, at, text int) []event.Arg {
	args := make([]event.Arg, len(fields))
	for i := range fields {
		f, a := &fields[i], &args[i]
		a.Name = f.name
		if f.source == fromRecord && f.meaning == reader.Plain && r.failed&(1<<f.read) == 0 {
			a.Value = scalar(r.rec[f.offset+at:], f.kind, f.size)
			continue
		}
		a.Value, a.Err = r.value(f, at, text)
	}
	return args
}

// noText takes the place of the index of strings that were not read.
const noText = math.MinInt32

func (r *reading) value(f *field, at, text int) (any, error) {
	switch {
	case f.source == fromNowhere:
		return nil, f.err
	case f.source == fromConstant:
		return f.value, nil
	case f.source == fromString || f.source == fromSlice:
		if text < 0 {
			return nil, errTooManyParts
		}
		return r.text(f, &r.texts[f.index+text])
	case r.failed&(1<<f.read) != 0:
		return nil, event.ErrFault
	}
	here := []byte(r.rec[f.offset+at:])
	switch f.source {
	case fromRecord:
		return event.NumberValue(f.kind, f.meaning, number(here, f.size), f.size).Any()
	case fromRaw:
		return slices.Clone(here[:f.count]), nil
	case fromChars:
		chars, _, _ := bytes.Cut(here[:f.count], []byte{0})
		return string(chars), nil
	case fromStruct:
		return event.Struct(r.all(f.parts, at, text)), nil
	case fromArray:
		return r.elements(f, f.count, at, text), nil
	case fromCounted:
		if r.failed&(1<<f.counted) != 0 {
			return nil, event.ErrFault // none were asked for
		}
		n := binary.NativeEndian.Uint64(r.rec[f.length:])
		if n <= uint64(f.count) {
			return r.elements(f, int(n), at, text), nil
		}
		return r.elements(f, f.count, at, text), truncation{kept: uint64(f.count), of: n, known: true, elements: true}
	case fromPointer:
		if binary.NativeEndian.Uint64(here) == 0 {
			return nil, nil
		}
		return r.value(&f.parts[0], at, text)
	case fromGoTime:
		return event.NumberValue(reader.Int, reader.Time, uint64(goTime(here)), 8).Any()
	case fromGoAddr:
		b, n := r.goAddr(here)
		return event.BytesValue(reader.Bytes, reader.Address, b[:n], nil).Any()
	}
	return nil, f.err
}

// elements returns the first n elements of an array.
func (r *reading) elements(f *field, n, at, text int) event.List {
	list := make(event.List, n)
	for i := range list {
		texts := text + i*f.texts
		if i >= f.whole {
			texts = noText
		}
		list[i].Value, list[i].Err = r.value(&f.parts[0], at+i*f.stride, texts)
	}
	return list
}

// text returns text, bytes or the elements of a slice.
func (r *reading) text(f *field, t *text) (any, error) {
	switch {
	case t.bytes == nil:
		return nil, t.err
	case f.source == fromSlice:
		elements := reading{rec: t.bytes, ipv4: r.ipv4}
		whole := field{parts: f.parts, stride: f.stride, whole: math.MaxInt}
		return elements.elements(&whole, len(t.bytes)/f.stride, 0, 0), t.err
	case f.kind != reader.Bytes:
		t.cut()
	}
	return event.BytesValue(f.kind, f.meaning, t.bytes, t.err).Any()
}

// text is a string of a record.
type text struct {
	bytes []byte // nil if it could not be read
	err   error
}

// cut leaves out the character in whose middle text was truncated.
func (t *text) cut() {
	err, ok := t.err.(truncation)
	if !ok {
		return
	}
	if whole := wholeRunes(t.bytes); len(whole) < len(t.bytes) {
		err.kept = uint64(len(whole))
		t.bytes, t.err = whole, err
	}
}

// wholeRunes returns truncated text without the beginning of a character at its
// end, if it is UTF-8 there.
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

func (s *schema) readTexts(r *reading) error {
	limit := uint64(s.sig.stringLimit())
	bit := s.sig.FirstString()
	rest := r.rec[s.sig.FixedSize():]
	for i, str := range s.sig.Strings {
		// Where pointer and length could not be read, they are zero, and nothing
		// is copied without an error.
		if r.failed&(1<<(bit+i)) != 0 || str.Sized && r.failed&(1<<str.Region) != 0 {
			r.texts = append(r.texts, text{err: s.readError(r, &str)})
			continue
		}
		var t text
		var have, keep uint64
		if str.Sized || str.Counted {
			length := s.length(r.rec, &str)
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
		r.texts = append(r.texts, t)
	}
	return nil
}

// length returns the length of text that says it.
func (s *schema) length(rec record.Record, str *record.String) uint64 {
	if str.Sized {
		return binary.NativeEndian.Uint64(rec[s.sig.BlockOffset()+int(str.Length):])
	}
	kind := reader.Uint
	if str.LengthSigned {
		kind = reader.Int
	}
	return bitsOf(scalar(rec[record.Slot(str.LengthSlot):], kind, str.LengthSize))
}

// readError is why a string could not be read; nil of one that is nowhere.
func (s *schema) readError(r *reading, str *record.String) error {
	if str.Sized || r.failed&(1<<str.Slot) != 0 {
		return event.ErrFault
	}
	if r.rec.Slot(str.Slot) == 0 {
		return nil
	}
	if str.Counted && str.LengthSigned {
		if n := int64(s.length(r.rec, str)); n < 0 {
			return fmt.Errorf("its length is %d", n)
		}
	}
	return event.ErrFault
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
		return fmt.Sprintf("%v to %d of %d %s", event.ErrTruncated, t.kept, t.of, what)
	}
	return fmt.Sprintf("%v to %d %s", event.ErrTruncated, t.kept, what)
}

func (t truncation) Unwrap() error { return event.ErrTruncated }

// scalar decodes the value at the beginning of b, in the host's byte order.
func scalar(b []byte, kind reader.FieldKind, size uint8) any {
	v, _ := event.NumberValue(kind, reader.Plain, number(b, size), size).Any()
	return v
}

// number returns the size bytes at the beginning of b.
func number(b []byte, size uint8) uint64 {
	switch size {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.NativeEndian.Uint16(b))
	case 4:
		return uint64(binary.NativeEndian.Uint32(b))
	}
	return binary.NativeEndian.Uint64(b)
}

// kindOf is the kind of value that the note of an untyped probe declares.
func kindOf(a notes.Arg) reader.FieldKind {
	switch {
	case a.Float:
		return reader.Float
	case a.Signed:
		return reader.Int
	}
	return reader.Uint
}

func argName(i int) string { return "arg" + strconv.Itoa(i) }
