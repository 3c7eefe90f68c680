package perfetto

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/notes"
)

// Slice writes a start and its end as a slice, with the arguments and the stacks of both.
// If both fired in one thread, and the end was not found by a key, the slice is on the track
// of that thread, where slices nest as calls do. Otherwise it is on a track of the process in
// which it began, beside the slices that it overlaps with.
//
// A slice is written when it ends: a start that never ends, as where an exception skips
// the end, would otherwise enclose all that follows on its thread.
func (w *Writer) Slice(start, end *event.Event, keyed bool) {
	w.prepare()
	began, ended := w.clock.at(start.Time), w.clock.at(end.Time)
	ended = max(ended, began)
	name := w.sliceName(start, end)
	t := w.sliceTrack(start, end, keyed, name, began, ended)

	b := appendUint(w.body[:0], eventType, sliceBegin)
	b = w.appendPlace(b, t, start.Provider, name)
	b = w.appendFlows(w.appendArgs(b, start.Args), start.Args, end.Args)
	w.body = w.appendStack(b, start.Stack)
	w.writeEvent(began, w.body)

	// Readers close the slice of this name, if several are open.
	b = appendUint(w.body[:0], eventType, sliceEnd)
	b = w.appendPlace(b, t, start.Provider, name)
	w.body = w.appendStack(w.appendEndArgs(b, start.Args, end.Args), end.Stack)
	w.writeEvent(ended, w.body)

	w.count(start, began, w.nameOf(start))
	w.count(end, ended, w.nameOf(end))
}

func (w *Writer) sliceTrack(start, end *event.Event, keyed bool, name string, began, ended uint64) *track {
	if !keyed && start.TID != 0 && start.TID == end.TID && start.PID == end.PID && !byGoroutine(start) {
		if t := w.thread(start); t.nest.add(began, ended) {
			return t
		}
	}
	return w.laneOf(start, name, began, ended)
}

// byGoroutine reports whether ends are found by their goroutine: many share a thread.
func byGoroutine(ev *event.Event) bool {
	p := ev.Probe
	return p != nil && (p.IsGo() || p.Type != nil && p.Type.Record.Flags&notes.GoroutineRegister != 0)
}

// appendEndArgs appends the arguments of an end. Readers put them beside the arguments of the
// start, and keep the last one of a name. So an argument that the start also has is left
// out if its value is the same, and otherwise becomes a field of an argument called end.
// A name such as end.id would not do: readers keep dots for fields.
func (w *Writer) appendEndArgs(dst []byte, start, end []event.Arg) []byte {
	w.changed = w.changed[:0]
	for i := range end {
		a := &end[i]
		if at := slices.IndexFunc(start, func(s event.Arg) bool { return s.Name == a.Name }); at >= 0 {
			w.other = w.appendValue(w.other[:0], &start[at])
			n := len(w.other)
			w.other = w.appendValue(w.other, a)
			if !bytes.Equal(w.other[:n], w.other[n:]) {
				w.changed = append(w.changed, *a)
			}
			continue
		}
		dst = w.appendNamed(dst, eventAnnotation, a.Name, a)
	}
	if len(w.changed) > 0 {
		dst = w.appendNamed(dst, eventAnnotation, "end", &event.Arg{Value: event.Struct(w.changed)})
	}
	return dst
}

// sliceName returns what the names of two probes have in common: postgresql:query of
// postgresql:query__start and postgresql:query__done.
func (w *Writer) sliceName(start, end *event.Event) string {
	return w.named(probes{start.Provider, start.Name, end.Provider, end.Name}, func() string {
		if common := commonName(start.Name, end.Name); common != "" && start.Provider == end.Provider {
			return start.Provider + ":" + common
		}
		if start.Provider == end.Provider {
			return w.nameOf(start) + " to " + end.Name
		}
		return w.nameOf(start) + " to " + w.nameOf(end)
	})
}

// commonName returns the words with which both names begin, empty if there are none.
func commonName(a, b string) string {
	if a == b {
		return a
	}
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	const separators = "_-."
	return strings.TrimRight(a[:strings.LastIndexAny(a[:n], separators)+1], separators)
}
