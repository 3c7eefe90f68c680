package main

import (
	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
)

// format is a way to write events, groups, pairs and snapshots. Its functions append whole
// lines.
type format struct {
	name  string
	event func(dst []byte, ev *event.Event) []byte
	// fields appends parts of an event only, or nothing if it has none of them.
	fields func(f fields, dst []byte, p *picked) []byte
	group  func(dst []byte, g *groupLine) []byte
	// pair appends a start and its end.
	pair func(dst []byte, pair *attach.Pair) []byte
	// snapshot appends the n-th snapshot.
	snapshot func(dst []byte, snap *attach.Snapshot, n uint64) []byte
	// readable says that people read it: numbers are shown as what they mean.
	readable bool
}

// formats are the values of --format of verbs that print lines, the default first.
var formats = []format{
	{"text", appendEvent, fields.appendText, appendGroup, appendPair, appendSnapshot, true},
	{"json", appendEventJSON, fields.appendJSON, appendGroupJSON, appendPairJSON, appendSnapshotJSON, false},
}

// lineFormats are their names.
func lineFormats() (names []string) {
	for i := range formats {
		names = append(names, formats[i].name)
	}
	return names
}

// formatOf returns the format of a name, text if events are not written in it one by one.
func formatOf(name string) *format {
	for i := range formats {
		if formats[i].name == name {
			return &formats[i]
		}
	}
	return &formats[0]
}

func appendEvent(dst []byte, ev *event.Event) []byte { return append(appendText(dst, ev), '\n') }

func appendEventJSON(dst []byte, ev *event.Event) []byte { return append(ev.AppendJSON(dst), '\n') }
