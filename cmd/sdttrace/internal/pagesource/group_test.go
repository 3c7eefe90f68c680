package pagesource

import (
	"testing"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/reader"
)

// TestGroup checks by what pairs are added up, and that numbers have the name of their argument.
func TestGroup(t *testing.T) {
	pair := attach.SpanPair{}
	pair.Start.Args = []event.Arg{{Name: "generation", Value: int64(2)}, {Name: "request", Value: "get key41\r\n"}, {Name: "empty", Value: ""}, {Name: "unset", Value: nil}}
	for by, want := range map[string]string{
		"generation":    "generation=2",
		"request":       "get key41\r\n",
		"word(request)": "get",
		"":              "get key41\r\n",
		"missing":       "",
		"empty":         `""`,
		"word(empty)":   `""`,
		"unset":         "unset=nil",
	} {
		f := Filler{By: []string{by}}
		if got := f.group(&pair, &event.Event{}); got != want {
			t.Errorf("by %q: got %q, want %q", by, got, want)
		}
	}
}

// TestEnd checks that pages leave out the registers of a function only where a first look has chosen it.
func TestEnd(t *testing.T) {
	args := []event.Arg{{Name: "arg0", Value: uint64(1)}}
	for _, c := range []struct {
		by   []string
		kind reader.ProbeKind
		args int
	}{
		{[]string{"sql(status)"}, reader.Uprobe, 0}, {[]string{"sql(status)"}, reader.USDT, 1}, {[]string{""}, reader.Uprobe, 1}, {nil, reader.Uprobe, 1},
	} {
		f := Filler{By: c.by}
		end := &event.Event{Probe: &reader.Probe{Kind: c.kind}, Args: args}
		if got := f.end(0, end); len(got.Args) != c.args || len(end.Args) != 1 {
			t.Errorf("by %q, %v: %v, want %d", c.by, c.kind, got.Args, c.args)
		}
	}
}
