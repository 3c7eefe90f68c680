package event

import (
	"bytes"
	"fmt"
	"time"

	"github.com/go-usdt/usdt/internal/decode/hook"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/shape"
	"github.com/go-usdt/usdt/reader"
)

// decoder is the Decoder of internal/decode.
type decoder struct {
	sites  func(site uint32) (*shape.Shape, *reader.Probe)
	wall   func(monotonic uint64) time.Time
	comms  map[[16]byte]string
	last   [16]byte // the thread name that was asked for last, and its string
	name   string
	args   []Arg // memory for the arguments of the next events
	view   View
	code   func(pid int, p *reader.Probe, pcs []uint64) hook.Code // nil if nobody names code
	saved  func(number uint64) *Stack                             // nil if there are none
	groups func(id uint64) (cgroup, container, pod string)        // nil unless they are asked for
}

func newDecoder(sites func(site uint32) (*shape.Shape, *reader.Probe), wall func(monotonic uint64) time.Time) *decoder {
	return &decoder{sites: sites, wall: wall, comms: map[[16]byte]string{}}
}

// argsAtATime is the number of arguments for which a decoder allocates memory at a time.
// A reference to one event keeps that memory.
const argsAtATime = 32

// room returns memory for n arguments.
func (d *decoder) room(n int) []Arg {
	if n > len(d.args) {
		if n > argsAtATime/2 {
			return make([]Arg, n)
		}
		d.args = make([]Arg, argsAtATime)
	}
	args := d.args[:n:n]
	d.args = d.args[n:]
	return args
}

// maxComms is the largest number of thread names that a decoder remembers.
const maxComms = 1024

func (d *decoder) Decode(rec []byte) (Event, error) {
	r, s, p, err := d.site(rec)
	if err != nil {
		return Event{}, err
	}
	ev := Event{
		Time:     d.time(r),
		PID:      r.PID(),
		TID:      r.TID(),
		Comm:     d.comm(r.Comm()),
		Provider: p.Provider,
		Name:     p.Name,
		Probe:    p,
	}
	d.decodeParts(&ev, r, s)
	var args reading
	if err := args.set(s, r); err != nil || len(s.Fields) == 0 {
		return ev, err
	}
	ev.Args = d.room(len(s.Fields))
	args.fill(ev.Args, s.Fields, 0, 0)
	return ev, nil
}

func (d *decoder) View(rec []byte) (*View, error) {
	v := &d.view
	v.decoder, v.addrs = d, v.addrs[:0]
	r, s, p, err := d.site(rec)
	if err != nil {
		return nil, err
	}
	v.shape, v.probe = s, p
	if err = v.reading.set(s, r); err != nil {
		v.shape, v.reading.rec = noArguments, r
	}
	return v, err
}

// noArguments is the shape of an event whose arguments cannot be decoded.
var noArguments = &shape.Shape{Layout: &record.Layout{}}

// site returns the record in b, the shape that decodes it, and the probe that fired.
func (d *decoder) site(b []byte) (record.Record, *shape.Shape, *reader.Probe, error) {
	rec, err := record.Check(b)
	if err != nil {
		return nil, nil, nil, err
	}
	s, p := d.sites(rec.Site())
	if s == nil {
		return nil, nil, nil, fmt.Errorf("event of site %d, which is not traced", rec.Site())
	}
	return rec, s, p, nil
}

// time returns when a record's probe fired, zero if the record does not say.
func (d *decoder) time(r record.Record) time.Time {
	if at := r.Time(); at != 0 {
		return d.wall(at)
	}
	return time.Time{}
}

func (d *decoder) comm(raw [16]byte) string {
	if raw == d.last && d.name != "" {
		return d.name
	}
	s, ok := d.comms[raw]
	if !ok {
		b, _, _ := bytes.Cut(raw[:], []byte{0})
		s = string(b)
		if len(d.comms) < maxComms {
			d.comms[raw] = s
		}
	}
	d.last, d.name = raw, s
	return s
}
