//go:build !usdt_nolocal

package provider

import (
	"bytes"
	"errors"
	"reflect"

	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/shape"
	"github.com/go-usdt/usdt/internal/stub"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// Layouts returns the layout of records of type t that a provider makes, and that of a
// reader of its object.
func Layouts(t reflect.Type) (got, want *record.Layout, err error) {
	sig, err := newRecordSignature(t)
	if err != nil {
		return nil, nil, err
	}
	code, _ := stub.CodeFor(notes.SiteNop)
	im, err := newImage("layouts", code, []*probe{{name: "x", sig: sig, group: newProvider("layouts", 0).alone}})
	if err != nil {
		return nil, nil, err
	}
	f, err := reader.NewFile(bytes.NewReader(im.bytes))
	if err != nil {
		return nil, nil, err
	}
	for p, err := range f.Probes() {
		if err != nil {
			return nil, nil, err
		}
		s := &shape.Shape{Layout: &record.Layout{Limit: recordedString, Slots: 1}}
		if s.IPv4 = sig.ipv4 != 0; s.IPv4 {
			s.Layout.Slots = 2
		}
		s.AddBlock(p.Type, nil)
		return sig.layout(s.Layout.Slots), s.Layout, nil
	}
	return nil, nil, errors.New("no probe")
}

// Matches is matches.
var Matches = matches

// Offers reports whether p has objects, and whether it offers them to local tracers.
func Offers(p *Provider) (loaded, offered bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	offering.Lock()
	defer offering.Unlock()
	return len(p.objects) > 0, p.offered && offering.users > 0 && offering.listener != nil
}
