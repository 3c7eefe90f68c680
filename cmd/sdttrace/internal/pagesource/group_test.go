package pagesource

import (
	"testing"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
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
