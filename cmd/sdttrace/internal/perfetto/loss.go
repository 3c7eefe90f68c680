package perfetto

import (
	"time"

	"github.com/go-usdt/usdt/event"
)

// Loss writes, as a slice on a track of its own, that n events were lost from one time to
// another. Losses do not overlap.
func (w *Writer) Loss(from, to time.Time, n uint64) {
	w.prepare()
	k := trackKey{name: "lost events", lane: 1}
	t := w.tracks[k]
	if t == nil {
		t = w.add(k, 0, k.name, func(b []byte) []byte { return appendText(b, trackName, k.name) })
	}
	began := w.clock.at(from)
	b := appendUint(w.body[:0], eventType, sliceBegin)
	b = w.appendPlace(b, t, "sdttrace", "events lost")
	w.body = w.appendArgs(b, []event.Arg{{Name: "events", Value: n}})
	w.writeEvent(began, w.body)
	w.body = w.appendPlace(appendUint(w.body[:0], eventType, sliceEnd), t, "sdttrace", "events lost")
	w.writeEvent(max(began, w.clock.at(to)), w.body)
}
