package format

import (
	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
)

// Format is a way to write events, groups, pairs and snapshots. Its functions append whole
// lines.
type Format struct {
	name  string
	Event func(dst []byte, ev *event.Event) []byte
	// Fields appends parts of an event only, or nothing if it has none of them.
	Fields func(f Fields, dst []byte, p *Picked) []byte
	// Groups appends the groups of an interval.
	Groups func(dst []byte, t *Table, in *Interval) []byte
	// Pair appends a start and its end.
	Pair func(dst []byte, pair *attach.Pair) []byte
	// Snapshot appends the n-th snapshot.
	Snapshot func(dst []byte, snap *attach.Snapshot, n uint64) []byte
	// Readable says that people read it: numbers are shown as what they mean.
	Readable bool
}

// formats are the values of --format of verbs that print lines, the default first.
var formats = []Format{
	{"text", appendEvent, Fields.appendText, appendTable, appendPair, appendSnapshot, true},
	{"json", appendEventJSON, Fields.appendJSON, appendGroupsJSON, appendPairJSON, appendSnapshotJSON, false},
}

// Names returns the names of all formats, the default first.
func Names() (names []string) {
	for i := range formats {
		names = append(names, formats[i].name)
	}
	return names
}

// Of returns the format of a name, text if events are not written in it one by one.
func Of(name string) *Format {
	for i := range formats {
		if formats[i].name == name {
			return &formats[i]
		}
	}
	return &formats[0]
}

func appendEvent(dst []byte, ev *event.Event) []byte { return append(AppendText(dst, ev), '\n') }

func appendEventJSON(dst []byte, ev *event.Event) []byte { return append(ev.AppendJSON(dst), '\n') }
