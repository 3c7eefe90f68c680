package usdtreceiver

import (
	"testing"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
	"github.com/go-usdt/usdt/total"
)

// planOf is a session of some sites.
type planOf struct{ plan attach.Plan }

func (p *planOf) Plan() attach.Plan { return p.plan }

// TestUnits checks that numbers have the unit that a prototype gives the argument, by probe, also of probes
// that come later.
func TestUnits(t *testing.T) {
	site := func(provider, name, args string) attach.Site {
		return attach.Site{Probe: reader.Probe{Note: notes.Note{Provider: provider, Name: name, Args: args}, Machine: 62, Class: 2}}
	}
	s := &planOf{attach.Plan{site("glib", "mem__alloc", "8@%rax 8@%rbx -4@%ecx -4@%edx"), site("glib", "slice__alloc", "8@%rax")}}
	group := func(probe string) total.Group { return total.Group{By: []event.Arg{{Name: "probe", Value: probe}}} }
	u := newUnits("n_bytes")
	u.learn(s, []total.Group{group("glib:mem__alloc"), {Other: true}})
	s.plan = append(s.plan, site("glib", "mem__realloc", "8@%rax 8@%rbx 8@%rsi -4@%ecx"), site("mine", "own", "8@%rax"))
	u.learn(s, []total.Group{group("glib:mem__realloc"), group("mine:own")})
	for probe, want := range map[string]string{"glib:mem__alloc": "By", "glib:mem__realloc": "By", "glib:slice__alloc": "", "mine:own": "", "never:seen": ""} {
		if got := u.of(probe); got != want {
			t.Errorf("%s: %q, want %q", probe, got, want)
		}
	}
	var none *units
	if none.learn(s, nil); newUnits("") != none || none.of("glib:mem__alloc") != "" {
		t.Error("what counts events has a unit")
	}
}
