package event

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/shape"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// reading is a record that is being decoded.
type reading struct {
	rec     record.Record
	failed  uint64
	strings []recordString
	ipv4    uint64 // see notes.IPv4Register
	fault   error  // of what could not be read
}

// set prepares r for decoding the fields of rec. It reuses the memory of r.
func (r *reading) set(s *shape.Shape, rec record.Record) error {
	if len(rec) < s.Layout.FixedSize() {
		return fmt.Errorf("event has %d bytes, fewer than the %d of its fixed part", len(rec), s.Layout.FixedSize())
	}
	r.rec, r.failed = rec, s.Layout.Failed(rec)
	r.strings = r.strings[:0]
	if r.fault = ErrFault; s.Layout.IsNil(rec) {
		r.fault = ErrNil
	}
	if s.IPv4 {
		r.ipv4 = rec.Slot(shape.IPv4Slot)
	}
	if len(s.Layout.Strings) == 0 {
		return nil
	}
	return r.setStrings(s.Layout)
}

// all returns the values of fields whose offsets are shifted by at, and the
// indices of their strings by index.
func (r *reading) all(fields []shape.Field, at, index int) []Arg {
	args := make([]Arg, len(fields))
	r.fill(args, fields, at, index)
	return args
}

// fill is all for memory that is there.
func (r *reading) fill(args []Arg, fields []shape.Field, at, index int) {
	for i := range fields {
		f, a := &fields[i], &args[i]
		a.Name = f.Name
		if f.Source == shape.FromRecord && f.Meaning == reader.Plain && r.failed&(1<<f.Read) == 0 {
			a.Value = scalar(r.rec[f.Offset+at:], f.Kind, f.Size)
			continue
		}
		a.Value, a.Err = r.value(f, at, index)
	}
}

func (r *reading) value(f *shape.Field, at, index int) (any, error) {
	switch {
	case f.Source == shape.FromNowhere:
		return nil, f.Err
	case f.Source == shape.FromConstant:
		return f.Constant, nil
	case f.Source == shape.FromString || f.Source == shape.FromSlice:
		if index < 0 {
			return nil, shape.ErrTooManyParts
		}
		return r.stringValue(f, &r.strings[f.Index+index])
	case r.failed&(1<<f.Read) != 0:
		return nil, r.fault
	}
	here := []byte(r.rec[f.Offset+at:])
	switch f.Source {
	case shape.FromRecord:
		return NumberValue(f.Kind, f.Meaning, record.Number(here, f.Size), f.Size).Any()
	case shape.FromRaw:
		return BytesValue(reader.Bytes, f.Meaning, here[:f.Count], nil).Any()
	case shape.FromChars:
		chars, _, _ := bytes.Cut(here[:f.Count], []byte{0})
		return string(chars), nil
	case shape.FromStruct:
		return Struct(r.all(f.Parts, at, index)), nil
	case shape.FromArray:
		return r.elements(f, f.Count, at, index), nil
	case shape.FromCounted:
		if r.failed&(1<<f.Counted) != 0 {
			return nil, r.fault // none were requested
		}
		n := binary.NativeEndian.Uint64(r.rec[f.Length:])
		if n <= uint64(f.Count) {
			return r.elements(f, int(n), at, index), nil
		}
		return r.elements(f, f.Count, at, index), truncation{kept: uint64(f.Count), of: n, known: true, elements: true}
	case shape.FromPointer:
		if binary.NativeEndian.Uint64(here) == 0 {
			return nil, nil
		}
		return r.value(&f.Parts[0], at, index)
	case shape.FromGoTime:
		return NumberValue(reader.Int, reader.Time, uint64(goTime(here)), 8).Any()
	case shape.FromGoAddr:
		b, n := r.goAddr(here)
		return BytesValue(reader.Bytes, reader.Address, b[:n], nil).Any()
	}
	return nil, f.Err
}

// elements returns the first n elements of an array.
func (r *reading) elements(f *shape.Field, n, at, index int) List {
	list := make(List, n)
	for i := range list {
		element := index + i*f.Strings
		if i >= f.Whole {
			element = shape.NoString
		}
		list[i].Value, list[i].Err = r.value(&f.Parts[0], at+i*f.Stride, element)
	}
	return list
}

// stringValue returns a string, bytes or the elements of a slice.
func (r *reading) stringValue(f *shape.Field, t *recordString) (any, error) {
	switch {
	case t.bytes == nil:
		return nil, t.err
	case f.Source == shape.FromSlice:
		elements := reading{rec: t.bytes, ipv4: r.ipv4}
		whole := shape.Field{Parts: f.Parts, Stride: f.Stride, Whole: math.MaxInt}
		return elements.elements(&whole, len(t.bytes)/f.Stride, 0, 0), t.err
	case f.Wide:
		narrow := *t // which another call may ask for again
		narrow.narrow()
		t = &narrow
	case f.Kind != reader.Bytes:
		t.cut()
	}
	return BytesValue(f.Kind, f.Meaning, t.bytes, t.err).Any()
}

// scalar decodes the value at the beginning of b, in the host's byte order.
func scalar(b []byte, kind reader.FieldKind, size uint8) any {
	v, _ := NumberValue(kind, reader.Plain, record.Number(b, size), size).Any()
	return v
}

// goTime returns the notes.GoTimeType at the beginning of b as a notes.TimeType.
func goTime(b []byte) int64 {
	return notes.GoTime(binary.NativeEndian.Uint64(b), int64(binary.NativeEndian.Uint64(b[8:])))
}

// goAddr returns the bytes of the notes.GoAddrType at the beginning of b, and their
// number.
func (r *reading) goAddr(b []byte) (bytes [16]byte, n int) {
	return notes.GoAddr(binary.NativeEndian.Uint64(b), binary.NativeEndian.Uint64(b[8:]), binary.NativeEndian.Uint64(b[16:]), r.ipv4)
}
