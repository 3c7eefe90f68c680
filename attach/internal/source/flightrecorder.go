package source

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/container"
	"github.com/go-usdt/usdt/internal/ring"
	"github.com/go-usdt/usdt/internal/tracefile"
	"github.com/go-usdt/usdt/reader"
)

// flightRecorder is the file of a flight recorder.
type flightRecorder struct{ *ring.Recording }

func (f flightRecorder) find(path string) (probes []reader.Probe, sites []recordedSite, damaged error) {
	for _, s := range f.Sites() {
		p, err := probeAt(s.Object, s.Location)
		if err != nil { // which costs the records of this probe
			damaged = err
			continue
		}
		p.Path, p.Live = path, &reader.Live{PID: f.PID}
		probes = append(probes, *p)
		sites = append(sites, recordedSite{number: s.Number, Recorded: site.Recorded{Kept: true, Limit: s.Limit}})
	}
	return probes, sites, damaged
}

func (f flightRecorder) stats() Counts {
	c := f.Counts()
	return Counts{Fired: c.Large + c.Contended, Lost: c.Large + c.Contended, Full: c.Large, Contended: c.Contended}
}

func (flightRecorder) losses() []tracefile.Loss { return nil }

func (flightRecorder) lacksStacks() error {
	return errors.New("flight recorders keep none")
}

func (flightRecorder) stack(uint64) *event.Stack { return nil }

// probeAt returns the probe of an object whose note has a location.
func probeAt(object []byte, location uint64) (*reader.Probe, error) {
	f, err := reader.NewFile(bytes.NewReader(object))
	if err != nil {
		return nil, err
	}
	for p, err := range f.Probes() {
		if err != nil {
			return nil, err
		}
		if p.Location == location {
			return &p, nil
		}
	}
	return nil, fmt.Errorf("the object of a probe has none at %#x", location)
}

// group finds nothing: events through shared memory do not say in which group they fired.
func (f flightRecorder) group(uint64) (g container.Group, known bool) { return g, false }
