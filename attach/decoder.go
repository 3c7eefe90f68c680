package attach

import (
	"bytes"
	"fmt"
	"sync/atomic"

	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/reader"
)

// decoder turns records into events.
type decoder struct {
	sites *atomic.Pointer[siteTable]
	clock clock
	comms map[[16]byte]string
}

func newDecoder(sites *atomic.Pointer[siteTable], c clock) decoder {
	return decoder{sites: sites, clock: c, comms: map[[16]byte]string{}}
}

// maxComms bounds the thread names that are remembered.
const maxComms = 1024

func (d *decoder) decode(b []byte) (event.Event, error) {
	rec, sc, p, err := d.site(b)
	if err != nil {
		return event.Event{}, err
	}
	ev := event.Event{
		Time:     d.clock.wall(rec.Time()),
		PID:      rec.PID(),
		TID:      rec.TID(),
		Comm:     d.comm(rec.Comm()),
		Provider: p.Provider,
		Name:     p.Name,
		Probe:    p,
	}
	ev.Args, err = sc.decode(rec)
	return ev, err
}

// site returns the record in b, how to decode it, and the probe that fired.
func (d *decoder) site(b []byte) (record.Record, *schema, *reader.Probe, error) {
	rec, err := record.Check(b)
	if err != nil {
		return nil, nil, nil, err
	}
	site := rec.Site()
	sites := d.sites.Load()
	if uint64(site) >= uint64(len(sites.schemas)) || sites.schemas[site] == nil {
		return nil, nil, nil, fmt.Errorf("event of site %d, which is not traced", site)
	}
	return rec, sites.schemas[site], sites.probes[site], nil
}

func (d *decoder) comm(raw [16]byte) string {
	s, ok := d.comms[raw]
	if !ok {
		b, _, _ := bytes.Cut(raw[:], []byte{0})
		s = string(b)
		if len(d.comms) < maxComms {
			d.comms[raw] = s
		}
	}
	return s
}
