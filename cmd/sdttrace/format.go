package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
)

// format is a way to write events and groups. Both functions append whole lines.
type format struct {
	name  string
	event func(dst []byte, ev *event.Event) []byte
	// group appends a group that was read at a time.
	group func(f *aggregateFlags, dst []byte, g *attach.Group, at time.Time) []byte
}

// formats are the values of --format, the default first.
var formats = []format{
	{"text", appendEvent, (*aggregateFlags).appendGroup},
	{"json", appendEventJSON, appendGroupJSON},
}

// formatOf returns the format of a name.
func formatOf(name string) (*format, error) {
	var names []string
	for i := range formats {
		if formats[i].name == name {
			return &formats[i], nil
		}
		names = append(names, formats[i].name)
	}
	return nil, fmt.Errorf("unknown format %q: want %s", name, strings.Join(names, " or "))
}

func appendEvent(dst []byte, ev *event.Event) []byte { return append(appendText(dst, ev), '\n') }

func appendEventJSON(dst []byte, ev *event.Event) []byte { return append(ev.AppendJSON(dst), '\n') }

func appendGroupJSON(_ *aggregateFlags, dst []byte, g *attach.Group, at time.Time) []byte {
	return append(g.AppendJSON(dst, at), '\n')
}
