package perfetto

import (
	"fmt"

	"github.com/go-usdt/usdt/event"
)

// trackKey identifies a track. Processes have no thread, no name and no lane, threads
// no name and no lane.
type trackKey struct {
	pid, tid int
	name     string // of a counter or of slices; of a process without a number its comm
	lane     int    // from 1 on, of slices that overlap; -1 of counters
}

// track is a track that the trace has described.
type track struct {
	uuid uint64
	name string
	busy intervals // slices on it
	nest nesting   // likewise, of a thread
}

// maxTracks is how many tracks a Writer remembers. When there are more, it forgets all, and
// describes those anew that go on.
const maxTracks = 1 << 14

// uuid returns the number of a track: for processes and threads the same in all traces, so
// that they can be put together. Slices that overlap would not nest if others came onto
// their tracks, so these have other numbers once they were forgotten.
func (w *Writer) uuid(k *trackKey) uint64 {
	b := fmt.Appendf(nil, "%d/%d/%d/%s", k.pid, k.tid, k.lane, k.name)
	if k.lane > 0 {
		b = fmt.Appendf(b, "/%d/%d", w.sequence, w.forgotten)
	}
	return hash(b)>>8 | 1 // 0 is a track of Perfetto's own
}

// add describes a new track in the trace. describe appends what there is to say besides its
// number.
func (w *Writer) add(k trackKey, parent uint64, name string, describe func([]byte) []byte) *track {
	if len(w.tracks) >= maxTracks {
		clear(w.tracks)
		w.forgotten++
	}
	t := &track{uuid: w.uuid(&k), name: name}
	w.tracks[k] = t
	w.describe(t, parent, describe)
	return t
}

// describe writes a packet that describes a track.
func (w *Writer) describe(t *track, parent uint64, describe func([]byte) []byte) {
	w.begin(0)
	b, start := open(w.buf, packetTrackDescriptor)
	b = appendUint(b, trackUUID, t.uuid)
	if parent != 0 {
		b = appendUint(b, trackParent, parent)
	}
	w.buf = closed(describe(b), start)
	w.end()
}

// process returns the track of the process in which an event fired.
func (w *Writer) process(ev *event.Event) *track {
	k := trackKey{pid: ev.PID}
	if ev.PID == 0 {
		k.name = ev.Comm // all that is known of it
	}
	t := w.tracks[k]
	leader := ev.TID == ev.PID || ev.TID == 0
	switch {
	case t == nil:
		name := ""
		if !leader && w.names != nil {
			name = w.names(ev.PID)
		}
		if name == "" {
			name = ev.Comm
		}
		return w.add(k, 0, name, describeProcess(ev.PID, name))
	case leader && t.name != ev.Comm: // it has executed another program
		t.name = ev.Comm
		w.describe(t, 0, describeProcess(ev.PID, t.name))
	}
	return t
}

func describeProcess(pid int, name string) func([]byte) []byte {
	return func(b []byte) []byte {
		if pid == 0 {
			return appendText(b, trackName, name)
		}
		b, start := open(b, trackProcess)
		return closed(appendText(appendUint(b, processPID, uint64(pid)), processName, name), start)
	}
}

// thread returns the track of the thread in which an event fired or, if it is not known,
// of the process.
func (w *Writer) thread(ev *event.Event) *track {
	if ev.TID == 0 || ev.PID == 0 {
		return w.process(ev)
	}
	k := trackKey{pid: ev.PID, tid: ev.TID}
	t := w.tracks[k]
	if t != nil && t.name == ev.Comm {
		return t
	}
	parent := w.process(ev).uuid
	describe := func(b []byte) []byte {
		b, start := open(b, trackThread)
		b = appendUint(appendUint(b, threadPID, uint64(ev.PID)), threadTID, uint64(ev.TID))
		return closed(appendText(b, threadName, ev.Comm), start)
	}
	if t = w.tracks[k]; t == nil {
		return w.add(k, parent, ev.Comm, describe)
	}
	t.name = ev.Comm
	w.describe(t, parent, describe)
	return t
}

// counterTrack returns the track of a number in a process.
func (w *Writer) counterTrack(ev *event.Event, name string, unit uint64) *track {
	k := trackKey{pid: ev.PID, name: name, lane: -1}
	if t := w.tracks[k]; t != nil {
		return t
	}
	parent := w.process(ev).uuid
	return w.add(k, parent, name, func(b []byte) []byte {
		b, start := open(appendText(b, trackName, name), trackCounter)
		if unit != 0 {
			b = appendUint(b, counterUnit, unit)
		}
		return closed(b, start)
	})
}

// laneOf returns a track of a process on which a slice overlaps with no other one.
func (w *Writer) laneOf(ev *event.Event, name string, began, ended uint64) *track {
	parent := w.process(ev).uuid
	k := trackKey{pid: ev.PID, name: name, lane: 1}
	for ; k.lane <= maxLanes; k.lane++ {
		t := w.tracks[k]
		if t == nil {
			t = w.add(k, parent, name, func(b []byte) []byte { return appendText(b, trackName, name) })
		}
		if t.busy.add(began, ended) {
			return t
		}
	}
	// It has a track of its own, which is forgotten.
	w.lonely++
	k.lane += w.lonely
	t := &track{uuid: w.uuid(&k)}
	w.describe(t, parent, func(b []byte) []byte { return appendText(b, trackName, name) })
	return t
}

// maxLanes is how many slices of one kind overlap in a process before each has a track of
// its own.
const maxLanes = 256
