package event

import (
	"bytes"
	"encoding/binary"
	"strings"
	"time"

	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/shape"
	"github.com/go-usdt/usdt/reader"
)

// View is an event whose arguments are decoded on demand. It is valid until the next
// event.
type View struct {
	decoder *decoder
	shape   *shape.Shape
	probe   *reader.Probe
	reading reading
	addrs   [][16]byte // memory for Value.Bytes
	stack   Stack
	pcs     []uint64 // memory for its addresses
}

// Time returns when the probe fired, as in Event.
func (v *View) Time() time.Time {
	return v.decoder.time(v.reading.rec)
}

// PID returns the process id, as in Event.
func (v *View) PID() int { return v.reading.rec.PID() }

// TID returns the thread id, as in Event.
func (v *View) TID() int { return v.reading.rec.TID() }

// Comm returns the name of the thread. It may be kept.
func (v *View) Comm() string { return v.decoder.comm(v.reading.rec.Comm()) }

// Probe returns the site that fired. All its events share it.
func (v *View) Probe() *reader.Probe { return v.probe }

// Len returns the number of arguments.
func (v *View) Len() int { return len(v.shape.Fields) }

// Name returns the name of argument i, which may be kept.
func (v *View) Name(i int) string { return v.shape.Fields[i].Name }

// Arg returns argument i.
func (v *View) Arg(i int) Value { return v.value(&v.shape.Fields[i], 0, 0) }

// Lookup returns the value at a path, such as "status", "peer.host" or "scores[1]",
// and reports whether there is one. Elements of slices are in [View.Event] only.
func (v *View) Lookup(path string) (Value, bool) {
	f, at, index, err := v.shape.Lookup(path)
	if err != nil {
		return Value{}, false
	}
	return v.value(f, at, index), true
}

// Argument returns the value at a path, as Lookup does, in the form that it has in an
// [Event]: it may be kept, and can be a [Struct] or a [List]. Its name is the argument's or,
// for a part of one, the path.
func (v *View) Argument(path string) (Arg, bool) {
	f, at, index, err := v.shape.Lookup(path)
	if err != nil {
		return Arg{}, false
	}
	a := Arg{Name: path}
	if !strings.ContainsAny(path, ".[") {
		a.Name = f.Name // path may be its place
	}
	a.Value, a.Err = v.reading.value(f, at, index)
	return a, true
}

// Event returns the event with all its arguments, which may be kept.
func (v *View) Event() (Event, error) { return v.decoder.Decode(v.reading.rec) }

func (v *View) value(f *shape.Field, at, index int) Value {
	r := &v.reading
	switch {
	case f.Source == shape.FromNowhere:
		return Value{Err: f.Err}
	case f.Source == shape.FromConstant:
		return NumberValue(f.Kind, f.Meaning, f.Bits, 8)
	case f.Source == shape.FromString || f.Source == shape.FromSlice:
		if index < 0 {
			return Value{Err: shape.ErrTooManyParts}
		}
		t := &r.strings[f.Index+index]
		switch {
		case t.bytes == nil:
			return Value{Err: t.err}
		case f.Source == shape.FromSlice:
			return Value{Kind: reader.Other, Err: t.err}
		case f.Wide:
			narrow := *t // which another call may ask for again
			narrow.narrow()
			return BytesValue(f.Kind, f.Meaning, narrow.bytes, narrow.err)
		case f.Kind == reader.String:
			t.cut()
		}
		return BytesValue(f.Kind, f.Meaning, t.bytes, t.err)
	case r.failed&(1<<f.Read) != 0:
		return Value{Err: r.fault}
	}
	here := r.rec[f.Offset+at:]
	switch f.Source {
	case shape.FromRecord:
		return NumberValue(f.Kind, f.Meaning, record.Number(here, f.Size), f.Size)
	case shape.FromRaw:
		return BytesValue(reader.Bytes, f.Meaning, here[:f.Count:f.Count], nil)
	case shape.FromChars:
		end := bytes.IndexByte(here[:f.Count], 0)
		if end < 0 {
			end = f.Count
		}
		return BytesValue(reader.String, reader.Plain, here[:end:end], nil)
	case shape.FromGoTime:
		return NumberValue(reader.Int, reader.Time, uint64(goTime(here)), 8)
	case shape.FromGoAddr:
		b, n := r.goAddr(here)
		v.addrs = append(v.addrs, b)
		return BytesValue(reader.Bytes, reader.Address, v.addrs[len(v.addrs)-1][:n:n], nil)
	case shape.FromPointer:
		if binary.NativeEndian.Uint64(here) == 0 {
			return Value{}
		}
		return v.value(&f.Parts[0], at, index)
	case shape.FromCounted:
		if r.failed&(1<<f.Counted) != 0 {
			return Value{Err: r.fault}
		}
	}
	return Value{Kind: reader.Other}
}
