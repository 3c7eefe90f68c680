package attach

import (
	"bytes"
	"encoding/binary"
	"iter"
	"time"

	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/reader"
)

// View is an event whose arguments are decoded when they are asked for. It is valid
// until the next event.
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

// set makes v a view of the event in b. With an error it has no arguments, or
// no probe either.
func (v *View) set(b []byte) error {
	v.addrs = v.addrs[:0]
	rec, sc, probe, err := v.decoder.site(b)
	if v.schema, v.probe = sc, probe; err != nil {
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
	return v.decoder.clock.wall(v.reading.rec.Time())
}

// PID returns the process id, as in Event.
func (v *View) PID() int { return v.reading.rec.PID() }

// TID returns the thread id, as in Event.
func (v *View) TID() int { return v.reading.rec.TID() }

// Comm returns the name of the thread. It may be kept.
func (v *View) Comm() string { return v.decoder.comm(v.reading.rec.Comm()) }

// Probe returns the site that fired. It is shared by all its events.
func (v *View) Probe() *reader.Probe { return v.probe }

// Len returns the number of arguments.
func (v *View) Len() int { return len(v.schema.fields) }

// Name returns the name of argument i, which may be kept.
func (v *View) Name(i int) string { return v.schema.fields[i].name }

// Arg returns argument i.
func (v *View) Arg(i int) event.Value { return v.value(&v.schema.fields[i], 0, 0) }

// Lookup returns the value at a path, such as "status", "peer.host" or
// "scores[1]", and whether there is one. Elements of slices are reached by Event
// only.
func (v *View) Lookup(path string) (event.Value, bool) {
	f, at, text, err := v.schema.walk(path, false)
	if err != nil {
		return event.Value{}, false
	}
	return v.value(f, at, text), true
}

// Event returns the event as Events would, to be kept.
func (v *View) Event() (event.Event, error) { return v.decoder.decode(v.reading.rec) }

func (v *View) value(f *field, at, text int) event.Value {
	r := &v.reading
	switch {
	case f.source == fromNowhere:
		return event.Value{Err: f.err}
	case f.source == fromConstant:
		return event.NumberValue(f.kind, reader.Plain, bitsOf(f.value), 8)
	case f.source == fromString || f.source == fromSlice:
		if text < 0 {
			return event.Value{Err: errTooManyParts}
		}
		t := &r.texts[f.index+text]
		switch {
		case t.bytes == nil:
			return event.Value{Err: t.err}
		case f.source == fromSlice:
			return event.Value{Kind: reader.Other, Err: t.err}
		case f.kind == reader.String:
			t.cut()
		}
		return event.BytesValue(f.kind, f.meaning, t.bytes, t.err)
	case r.failed&(1<<f.read) != 0:
		return event.Value{Err: event.ErrFault}
	}
	here := r.rec[f.offset+at:]
	switch f.source {
	case fromRecord:
		return event.NumberValue(f.kind, f.meaning, number(here, f.size), f.size)
	case fromRaw:
		return event.BytesValue(reader.Bytes, reader.Plain, here[:f.count:f.count], nil)
	case fromChars:
		end := bytes.IndexByte(here[:f.count], 0)
		if end < 0 {
			end = f.count
		}
		return event.BytesValue(reader.String, reader.Plain, here[:end:end], nil)
	case fromGoTime:
		return event.NumberValue(reader.Int, reader.Time, uint64(goTime(here)), 8)
	case fromGoAddr:
		b, n := r.goAddr(here)
		v.addrs = append(v.addrs, b)
		return event.BytesValue(reader.Bytes, reader.Address, v.addrs[len(v.addrs)-1][:n:n], nil)
	case fromPointer:
		if binary.NativeEndian.Uint64(here) == 0 {
			return event.Value{}
		}
		return v.value(&f.parts[0], at, text)
	case fromCounted:
		if r.failed&(1<<f.counted) != 0 {
			return event.Value{Err: event.ErrFault}
		}
	}
	return event.Value{Kind: reader.Other}
}
