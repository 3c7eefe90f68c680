package perfetto

import (
	"io"
	"math"
	"os"
	"time"

	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/symbols"
)

// Options say what a trace shows besides events.
type Options struct {
	// Flows are arguments by which events belong together, in whatever process: arrows lead
	// from each event to the next one that has an argument of this name and value. Empty
	// texts and 0 count as none.
	Flows []string
	// Counters are arguments that are numbers, each shown as a counter of its process.
	Counters []string
	// Recorded says that the events come from recordings, perhaps from before this machine
	// was started, so that the trace has times of the wall clock.
	Recorded bool
	// Names returns the name of a process that is not named by its events, "" if it is not
	// known. It may be nil.
	Names func(pid int) string
}

// Writer writes a trace. Its memory is bounded, whatever is traced. One goroutine at a time
// may use it.
type Writer struct {
	to       io.Writer
	err      error // the first one
	flows    []string
	counters []string
	names    func(pid int) string
	flowed   []bool // which flows an event had
	counted  []bool // which counters an event had, as a number
	sequence uint32 // distinguishes the packets of this Writer from others
	clock    clock

	known     map[probes]string // names by the probes that have them
	tracks    map[trackKey]*track
	forgotten int // how often all tracks were
	lonely    int // slices that have tracks of their own
	interned  interned
	most      int // bytes that interned data takes before it is forgotten

	buf     []byte      // packets that are to be written, and the one that is being made
	packet  int         // where its fields begin
	body    []byte      // memory for the event in it
	other   []byte      // memory for the end of a slice
	changed []event.Arg // likewise
	frames  []symbols.Frame
}

// flushSize is how many bytes are written at a time.
const flushSize = 64 << 10

// New returns a Writer. Each Write that it makes has whole packets.
func New(to io.Writer, o *Options) *Writer {
	w := &Writer{
		to: to, flows: o.Flows, counters: o.Counters, names: o.Names, clock: clock{boot: !o.Recorded}, known: map[probes]string{}, flowed: make([]bool, len(o.Flows)), counted: make([]bool, len(o.Counters)), tracks: map[trackKey]*track{}, most: maxInterned,
		// Perfetto's own tracing numbers its sequences from 1 on.
		sequence: 1<<31 | uint32(os.Getpid())<<8 ^ uint32(time.Now().UnixNano()>>20),
	}
	w.clock.check()
	w.restart(true)
	return w
}

// restart writes a packet that has readers forget what was interned, with a comparison of
// the clocks if asked for.
func (w *Writer) restart(clocks bool) {
	w.interned.clear()
	w.begin(0)
	w.buf = appendUint(w.buf, packetFlags, stateCleared)
	b, start := open(w.buf, packetDefaults)
	w.buf = closed(appendUint(b, defaultsClock, w.clock.id()), start)
	if clocks {
		w.buf = w.clock.appendClocks(w.buf)
	}
	w.end()
}

// begin begins a packet. at is its time, 0 for none.
func (w *Writer) begin(at uint64) {
	w.buf, w.packet = open(w.buf, tracePacket)
	if at != 0 {
		w.buf = appendUint(w.buf, packetTimestamp, at)
	}
	w.buf = appendUint(w.buf, packetSequence, uint64(w.sequence))
}

func (w *Writer) end() {
	w.buf = closed(w.buf, w.packet)
	if len(w.buf) >= flushSize {
		w.Flush()
	}
}

// Flush writes what is buffered. It returns the first error that there was: after it,
// nothing is written.
func (w *Writer) Flush() error {
	if w.err == nil && len(w.buf) > 0 {
		_, w.err = w.to.Write(w.buf)
	}
	w.buf = w.buf[:0]
	return w.err
}

// Err returns the first error that there was.
func (w *Writer) Err() error { return w.err }

// writeEvent writes the packet of a track event, whose fields are in body. The names and
// other texts that the body refers to are in the packet, or in an earlier one.
func (w *Writer) writeEvent(at uint64, body []byte) {
	w.begin(at)
	w.buf = appendUint(w.buf, packetFlags, stateNeeded)
	if len(w.interned.fresh) > 0 {
		w.buf = appendBytes(w.buf, packetInterned, w.interned.fresh)
		w.interned.fresh = w.interned.fresh[:0]
	}
	w.buf = appendBytes(w.buf, packetTrackEvent, body)
	w.end()
}

// prepare makes room for what the next event may intern, and looks at the clocks.
func (w *Writer) prepare() {
	if set := w.clock.check(); set || w.interned.size > w.most {
		w.restart(set)
	}
}

// Event writes an event as an instant on the track of its thread, and its counters.
func (w *Writer) Event(ev *event.Event) {
	w.prepare()
	at := w.clock.at(ev.Time)
	name := w.nameOf(ev)
	b := appendUint(w.body[:0], eventType, instant)
	b = w.appendPlace(b, w.thread(ev), ev.Provider, name)
	b = w.appendFlows(w.appendArgs(b, ev.Args), ev.Args, nil)
	w.body = w.appendStack(b, ev.Stack)
	w.writeEvent(at, w.body)
	w.count(ev, at, name)
}

// appendPlace appends the track, the provider and the name of an event.
func (w *Writer) appendPlace(dst []byte, t *track, category, name string) []byte {
	dst = appendUint(dst, eventTrack, t.uuid)
	dst = appendUint(dst, eventCategory, w.interned.text(internedCategory, category))
	return appendUint(dst, eventName, w.interned.text(internedName, name))
}

// appendStack appends the calls that led to an event.
func (w *Writer) appendStack(dst []byte, s *event.Stack) []byte {
	if s == nil {
		return dst
	}
	w.frames = s.AppendMarked(w.frames[:0])
	if n := w.interned.stack(w.frames); n != 0 {
		dst = appendUint(dst, eventCallstack, n)
	}
	return dst
}

// count writes the counters of an event.
func (w *Writer) count(ev *event.Event, at uint64, name string) {
	for i, path := range w.counters {
		a := lookup(ev.Args, path)
		if a == nil {
			continue
		}
		b := appendUint(w.body[:0], eventType, counter)
		unit := uint64(0)
		switch v := a.Value.(type) {
		case uint64:
			b = appendUint(b, eventCounter, min(v, math.MaxInt64))
		case int64:
			b = appendUint(b, eventCounter, uint64(v))
		case time.Duration:
			b, unit = appendUint(b, eventCounter, uint64(v)), unitTimeNanos
		case float64:
			b = appendDouble(b, eventDoubleCounter, v)
		default:
			continue
		}
		w.counted[i] = true
		w.body = appendUint(b, eventTrack, w.counterTrack(ev, name+" "+path, unit).uuid)
		w.writeEvent(at, w.body)
	}
}

// Missing returns the flows of which no event had the argument, and the counters of which none
// had a number.
func (w *Writer) Missing() (flows, counters []string) {
	for i, path := range w.flows {
		if !w.flowed[i] {
			flows = append(flows, path)
		}
	}
	for i, path := range w.counters {
		if !w.counted[i] {
			counters = append(counters, path)
		}
	}
	return flows, counters
}

// nameOf returns the name of an event, as selectors have it.
func (w *Writer) nameOf(ev *event.Event) string {
	return w.named(probes{ev.Provider, ev.Name, "", ""}, func() string { return ev.Provider + ":" + ev.Name })
}

// probes are the providers and names of a probe, or of a start and an end.
type probes [4]string

// maxNamed bounds how many names are remembered.
const maxNamed = 4096

// named returns the name of probes, and remembers it.
func (w *Writer) named(p probes, name func() string) string {
	if s, ok := w.known[p]; ok {
		return s
	}
	if len(w.known) >= maxNamed {
		clear(w.known)
	}
	s := name()
	w.known[p] = s
	return s
}
