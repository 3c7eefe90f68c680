package format

import (
	"testing"

	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/printable"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/prototype"
	"github.com/go-usdt/usdt/reader"
)

// TestConstantNames checks that the names of constants, which the debugging information
// of a traced program gives, are escaped in events and in keys.
func TestConstantNames(t *testing.T) {
	const name = "RED\x1b[2J\n\u202e"
	p := &reader.Probe{Note: notes.Note{Provider: "paint", Name: "mix"}, Kind: reader.Uprobe, Casts: []reader.Variable{
		{Name: "shade", Type: "enum color", Kind: reader.Uint, Size: 4, Named: []reader.NamedValue{{Name: name, Value: 3}}},
	}}
	m := Meanings{Table: prototype.Known()}
	ev := event.Event{Probe: p, Provider: p.Provider, Name: p.Name, Args: []event.Arg{{Name: "shade", Value: uint64(3)}}}
	m.Event(&ev, true)
	want := "shade=" + printable.String(name)
	if got := string(appendArgs(nil, ev.Args)); got != want {
		t.Errorf("an event has %q, want %q", got, want)
	}
	inside := []event.Arg{{Name: "all", Value: event.List{{Value: event.Struct(ev.Args)}}}}
	if got, want := string(appendArgs(nil, inside)), "all=[{"+want+"}]"; got != want {
		t.Errorf("a list has %q, want %q", got, want)
	}
}
