package usdtreceiver

import (
	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/prototype"
	"github.com/go-usdt/usdt/reader"
	"github.com/go-usdt/usdt/total"
)

// units are what an argument counts, by probe, as prototypes say, in the words of ucum.org. The nil units
// know none.
type units struct {
	value string
	known map[string]string // by PROVIDER:NAME; "" for none
}

// ucum has the words for units of prototypes.
var ucum = map[string]string{"ns": "ns", "us": "us", "ms": "ms", "s": "s", "bytes": "By", "kB": "kBy", "pages": "{page}", "blocks": "{block}"}

// newUnits returns the units of an argument; nil if there is none.
func newUnits(value string) *units {
	if value == "" {
		return nil
	}
	return &units{value, map[string]string{}}
}

// learn looks for the units of the probes of groups, whose first key is the probe.
func (u *units) learn(s interface{ Plan() attach.Plan }, groups []total.Group) {
	if u == nil {
		return
	}
	for i := range groups {
		if groups[i].Other {
			continue
		}
		if _, known := u.known[text(groups[i].By[0].Value)]; !known {
			u.read(s.Plan())
			return
		}
	}
}

// read notes the units of all sites of a plan.
func (u *units) read(plan attach.Plan) {
	for i := range plan {
		p := &plan[i].Probe
		name := p.Provider + ":" + p.Name
		if u.known[name] == "" {
			u.known[name] = u.in(p)
		}
	}
}

// in returns the unit of the argument of a probe, whose object does not name it.
func (u *units) in(p *reader.Probe) string {
	if p.Type != nil || p.Kind != reader.USDT {
		return ""
	}
	if of := prototype.Known().Lookup(p.Provider, p.Name, p.Arguments(), notes.Class(p.Class)); of != nil {
		for _, param := range of.Params {
			if param.Name == u.value {
				return ucum[param.Unit]
			}
		}
	}
	return ""
}

// of returns the unit at a probe, empty if there is none.
func (u *units) of(probe string) string {
	if u == nil {
		return ""
	}
	return u.known[probe]
}
