package attach

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"sync/atomic"

	"github.com/go-usdt/usdt/event"
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

func (d *decoder) decode(rec []byte) (event.Event, error) {
	sc, p, err := d.site(rec)
	if err != nil {
		return event.Event{}, err
	}
	task := binary.NativeEndian.Uint64(rec[headTask:])
	ev := event.Event{
		Time:     d.clock.wall(binary.NativeEndian.Uint64(rec[headTime:])),
		PID:      int(task >> 32),
		TID:      int(uint32(task)),
		Comm:     d.comm([16]byte(rec[headComm:])),
		Provider: p.Provider,
		Name:     p.Name,
		Probe:    p,
	}
	ev.Args, err = sc.decode(rec)
	return ev, err
}

// site returns how to decode the record, and the probe that fired.
func (d *decoder) site(rec []byte) (*schema, *reader.Probe, error) {
	if len(rec) < headSize {
		return nil, nil, fmt.Errorf("event of %d bytes is shorter than its header", len(rec))
	}
	site := binary.NativeEndian.Uint32(rec[headSite:])
	sites := d.sites.Load()
	if uint64(site) >= uint64(len(sites.schemas)) || sites.schemas[site] == nil {
		return nil, nil, fmt.Errorf("event of site %d, which is not traced", site)
	}
	return sites.schemas[site], sites.probes[site], nil
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
