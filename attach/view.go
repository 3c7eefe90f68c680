package attach

import (
	"bytes"
	"encoding/binary"
	"iter"
	"math"
	"time"

	"github.com/go-usdt/usdt/reader"
)

// View is an event that is decoded as far as one looks at it. It is valid until
// the next one.
type View struct {
	decoder decoder
	schema  *schema
	probe   *reader.Probe
	reading reading
	addrs   [][16]byte // that Value.Bytes leads to
}

// Views yields what Events yields, without allocating memory: all views are the
// same one, and what their methods return as bytes is overwritten by the next
// event. Beside an error a view has no arguments. Text and bytes that are to be
// kept are copied by the caller, or all of the event by [View.Event].
func (s *Session) Views() iter.Seq2[*View, error] {
	return func(yield func(*View, error) bool) {
		v := &View{decoder: newDecoder(&s.sites, s.clock)}
		s.records(func(rec []byte, err error) bool {
			if err == nil {
				err = v.set(rec)
			} else {
				v.probe = nil
			}
			if v.probe == nil {
				yield(nil, err)
				return false
			}
			return yield(v, err)
		})
	}
}

// set makes v a view of the event in rec. With an error it has no arguments, or
// no probe either.
func (v *View) set(rec []byte) (err error) {
	v.addrs = v.addrs[:0]
	if v.schema, v.probe, err = v.decoder.site(rec); err != nil {
		return err
	}
	if err = v.schema.read(rec, &v.reading); err != nil {
		v.schema, v.reading.rec = noArguments, rec
	}
	return err
}

// noArguments is the schema of an event whose arguments cannot be decoded.
var noArguments = &schema{sig: &signature{}}

// Time returns when the probe fired, by the clock on the wall.
func (v *View) Time() time.Time {
	return v.decoder.clock.wall(binary.NativeEndian.Uint64(v.reading.rec[headTime:]))
}

// PID returns the process id, as in Event.
func (v *View) PID() int { return int(binary.NativeEndian.Uint64(v.reading.rec[headTask:]) >> 32) }

// TID returns the thread id, as in Event.
func (v *View) TID() int { return int(binary.NativeEndian.Uint32(v.reading.rec[headTask:])) }

// Comm returns the name of the thread. It may be kept.
func (v *View) Comm() string { return v.decoder.comm([16]byte(v.reading.rec[headComm:])) }

// Probe returns the site that fired. It is shared by all its events.
func (v *View) Probe() *reader.Probe { return v.probe }

// Len returns the number of arguments.
func (v *View) Len() int { return len(v.schema.fields) }

// Name returns the name of argument i, which may be kept.
func (v *View) Name(i int) string { return v.schema.fields[i].name }

// Arg returns argument i.
func (v *View) Arg(i int) Value { return v.value(&v.schema.fields[i], 0, 0) }

// Lookup returns the value at a path, such as "status", "peer.host" or
// "scores[1]", and whether there is one. Elements of slices are reached by Event
// only.
func (v *View) Lookup(path string) (Value, bool) {
	f, at, text, err := v.schema.walk(path, false)
	if err != nil {
		return Value{}, false
	}
	return v.value(f, at, text), true
}

// Event returns the event as Events would, to be kept.
func (v *View) Event() (Event, error) { return v.decoder.decode(v.reading.rec) }

// Value is a value of a View.
type Value struct {
	// Kind is Uint (also for addresses), Int, Bool, Float, String or Bytes, and
	// Other of structs, arrays and slices. It is 0 if there is no value: of a
	// pointer that was followed to nothing, and if Err says so.
	Kind reader.FieldKind
	// Meaning is what an Int, or Bytes, stand for.
	Meaning reader.Meaning
	// Err is as in Arg.
	Err error

	bits uint64
	data []byte
}

// Uint returns an unsigned integer, address or bool; 0 if it is none.
func (v Value) Uint() uint64 {
	if v.Kind == reader.Uint || v.Kind == reader.Bool {
		return v.bits
	}
	return 0
}

// Int returns a signed integer; 0 if it is none.
func (v Value) Int() int64 {
	if v.Kind == reader.Int {
		return int64(v.bits)
	}
	return 0
}

// Float returns a floating-point number; 0 if it is none.
func (v Value) Float() float64 {
	if v.Kind == reader.Float {
		return math.Float64frombits(v.bits)
	}
	return 0
}

// Bool reports whether the value is a bool that is true.
func (v Value) Bool() bool { return v.Kind == reader.Bool && v.bits != 0 }

// Bytes returns text or bytes, valid until the next event; nil of other values.
func (v Value) Bytes() []byte { return v.data }

func (v *View) value(f *field, at, text int) Value {
	r := &v.reading
	switch {
	case f.source == fromNowhere:
		return Value{Err: f.err}
	case f.source == fromConstant:
		return Value{Kind: f.kind, bits: bitsOf(f.value)}
	case f.source == fromString || f.source == fromSlice:
		if text < 0 {
			return Value{Err: errTooManyParts}
		}
		t := &r.texts[f.index+text]
		switch {
		case t.bytes == nil:
			return Value{Err: t.err}
		case f.source == fromSlice:
			return Value{Kind: reader.Other, Err: t.err}
		case f.kind == reader.String:
			t.cut()
		}
		return Value{Kind: f.kind, Meaning: f.meaning, Err: t.err, data: t.bytes}
	case r.failed&(1<<f.read) != 0:
		return Value{Err: ErrFault}
	}
	here := r.rec[f.offset+at:]
	switch f.source {
	case fromRecord:
		kind := f.kind
		if kind == reader.Other {
			kind = reader.Uint
		}
		return Value{Kind: kind, Meaning: f.meaning, bits: widen(number(here, f.size), f.kind, f.size)}
	case fromRaw:
		return Value{Kind: reader.Bytes, data: here[:f.count:f.count]}
	case fromChars:
		end := bytes.IndexByte(here[:f.count], 0)
		if end < 0 {
			end = f.count
		}
		return Value{Kind: reader.String, data: here[:end:end]}
	case fromGoTime:
		return Value{Kind: reader.Int, Meaning: reader.Time, bits: uint64(goTime(here))}
	case fromGoAddr:
		b, n := r.goAddr(here)
		v.addrs = append(v.addrs, b)
		return Value{Kind: reader.Bytes, Meaning: reader.Address, data: v.addrs[len(v.addrs)-1][:n:n]}
	case fromPointer:
		if binary.NativeEndian.Uint64(here) == 0 {
			return Value{}
		}
		return v.value(&f.parts[0], at, text)
	case fromCounted:
		if r.failed&(1<<f.counted) != 0 {
			return Value{Err: ErrFault}
		}
	}
	return Value{Kind: reader.Other}
}
