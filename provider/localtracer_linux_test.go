//go:build !usdt_nolocal

package provider_test

import (
	"context"
	"encoding/hex"
	"errors"
	"testing"
	"time"

	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/decode"
	"github.com/go-usdt/usdt/internal/rendezvous"
	"github.com/go-usdt/usdt/internal/shape"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// tracer is a local tracer of a process.
type tracer struct {
	*rendezvous.Session
	shapes  map[uint32]*shape.Shape
	probes  map[uint32]*reader.Probe
	decoder decode.Decoder
	buf     []byte
}

// watching says how a tracer watches.
type watching struct {
	size   int    // of the ring
	limit  int    // bytes of each string; 0 means 1024
	probe  string // the only one; empty means all
	follow shape.Follow
	sample uint32
	where  []rendezvous.Term
	stack  int // addresses
}

// attachTo watches the probes of a provider in a process.
func attachTo(t testing.TB, pid int, provider string, how watching) *tracer {
	t.Helper()
	tr, err := connect(t.Context(), pid, provider, how)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tr.Close() })
	return tr
}

func connect(ctx context.Context, pid int, provider string, how watching) (*tracer, error) {
	s, err := rendezvous.Connect(ctx, pid, &rendezvous.Options{Size: how.size})
	if err != nil {
		return nil, err
	}
	tr := &tracer{Session: s, shapes: map[uint32]*shape.Shape{}, probes: map[uint32]*reader.Probe{}}
	tr.decoder = decode.NewDecoder(func(n uint32) (*shape.Shape, *reader.Probe) { return tr.shapes[n], tr.probes[n] },
		func(ns uint64) time.Time { return time.Unix(0, int64(ns)) })
	if err := tr.watch(provider, how); err != nil {
		s.Close()
		return nil, err
	}
	return tr, nil
}

// watch watches the provider's probes that are there now and were not before.
func (tr *tracer) watch(provider string, how watching) error {
	if how.limit == 0 {
		how.limit = 1024
	}
	sites, probes, err := sitesOf(tr.PID(), provider, how)
	if err != nil {
		return err
	}
	n := uint32(len(tr.probes) + 1)
	for i := range sites {
		sites[i].Number = n + uint32(i)
		tr.shapes[sites[i].Number], tr.probes[sites[i].Number] = probes[i].shape, &probes[i].Probe
	}
	refused, err := tr.Watch(sites)
	return errors.Join(append(refused, err)...)
}

type shaped struct {
	reader.Probe
	shape *shape.Shape
}

// sitesOf returns what a tracer asks for, and the probes.
func sitesOf(pid int, provider string, how watching) (sites []rendezvous.Site, probes []shaped, err error) {
	p, err := reader.OpenProcess(pid)
	if err != nil {
		return nil, nil, err
	}
	defer p.Close()
	for probe, err := range p.Probes() {
		if err != nil {
			return nil, nil, err
		}
		if probe.Provider != provider || how.probe != "" && probe.Name != how.probe {
			continue
		}
		sh, err := shape.OfBlock(probe.Type, how.limit, how.follow)
		if err != nil {
			return nil, nil, err
		}
		sh.Layout.Stack.Most = how.stack
		s := rendezvous.Site{Location: probe.Location, Layout: sh.Layout, Sample: how.sample, Where: how.where}
		if id, err := hex.DecodeString(probe.BuildID); err == nil {
			copy(s.Object[:], id)
		}
		if probe.Type.Record.Flags&notes.IPv4Register != 0 {
			s.Slots = []rendezvous.Slot{rendezvous.IPv4}
		}
		sites, probes = append(sites, s), append(probes, shaped{probe, sh})
	}
	return sites, probes, nil
}

// next returns the events that are there, or all that there will be if final.
func (tr *tracer) next(t testing.TB, final bool) (events []event.Event) {
	t.Helper()
	if _, err := tr.Ring.Poll(final); err != nil {
		t.Fatal(err)
	}
	for {
		rec, ok, err := tr.Ring.Next(tr.buf)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return events
		}
		tr.buf = rec
		ev, err := tr.decoder.Decode(rec)
		if err != nil {
			t.Fatalf("record %x: %v", rec, err)
		}
		events = append(events, ev)
	}
}

// all stops and returns all events.
func (tr *tracer) all(t testing.TB) []event.Event {
	t.Helper()
	if err := tr.Stop(); err != nil {
		t.Fatal(err)
	}
	return tr.next(t, true)
}
