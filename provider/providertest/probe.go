package providertest

import (
	"bytes"
	"errors"
	"math"
	"time"
	"unsafe"

	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/shape"
	"github.com/go-usdt/usdt/reader"
)

// described identifies what an object describes.
type described struct {
	name      string
	signature unsafe.Pointer
}

// probe is a probe as tracers find it in an object, together with what makes and
// decodes its records.
type probe struct {
	name  string
	site  reader.Probe
	shape *shape.Shape
	err   error
}

// probe returns the probe that fired. The recorder is locked.
func (r *Recorder) probe(d described) *probe {
	p := r.probes[d]
	if p == nil {
		p = &probe{name: d.name}
		p.err = p.describe(r.source.Object(d.name, d.signature))
		r.probes[d] = p
	}
	return p
}

// describe reads the object of one probe.
func (p *probe) describe(object []byte, err error) error {
	if err != nil {
		return err
	}
	f, err := reader.NewFile(bytes.NewReader(object))
	if err != nil {
		return err
	}
	for site, err := range f.Probes() {
		if err != nil {
			return err
		}
		p.site = site
		p.shape, err = shape.OfBlock(site.Type, math.MaxInt32, nil)
		return err
	}
	return errors.New("its object describes no probe")
}

// decode returns the event in a record, without its time.
func (p *probe) decode(rec []byte) (event.Event, error) {
	if p.err != nil {
		return event.Event{}, p.err
	}
	d := event.NewDecoder(
		func(uint32) (*shape.Shape, *reader.Probe) { return p.shape, &p.site },
		func(uint64) time.Time { return time.Time{} },
	)
	return d.Decode(rec)
}
