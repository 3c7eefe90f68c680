package timeline

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Trace is what a trace shows.
type Trace struct {
	// Slices are all slices and instants, in the order in which they began.
	Slices []*Slice
	// Flows are the arrows, from one slice to the next one.
	Flows [][2]*Slice
	// Counters are the values of counters, in order, by process and name: "4711 load".
	Counters map[string][]float64
	// Processes are the names of processes, Threads the names of threads.
	Processes, Threads map[int]string
	// Clock is the number of the clock of all times, and Ahead how far the wall clock is
	// ahead of it.
	Clock uint64
	Ahead time.Duration
	// Tracks is how many tracks there are, Restarts how often what was interned was
	// forgotten.
	Tracks, Restarts int
	// Cut is the number of bytes behind the last whole packet.
	Cut int
}

// Slice is a slice, or an instant, which has no duration.
type Slice struct {
	Category, Name string
	PID, TID       int // TID is 0 of a track that is no thread's
	Lane           string
	At             uint64
	Took           time.Duration
	Instant, Open  bool // Open says that it has no end
	Depth          int
	Parent         *Slice
	Args           map[string]any // of nested ones, by paths: peer.port, tags[0]
	Stack          []string       // the innermost first
	Track          uint64         // tells tracks apart
}

// Wall returns when the slice began, by the wall clock.
func (t *Trace) Wall(s *Slice) time.Time { return time.Unix(0, int64(s.At)).Add(t.Ahead) }

// Named returns the slices, or instants, of a name.
func (t *Trace) Named(name string) (named []*Slice) {
	for _, s := range t.Slices {
		if s.Name == name {
			named = append(named, s)
		}
	}
	return named
}

// sequence is what the packets of a sequence refer to.
type sequence struct {
	interned map[string]map[uint64]message
	clock    uint64
}

// track is a track that was described.
type track struct {
	parent   uint64
	name     string
	pid, tid int
	counter  bool
}

// occurrence is a track event with what it refers to.
type occurrence struct {
	at    uint64
	event message
	seq   *sequence
}

// Read reads a trace, whose last packet may be cut off.
func Read(b []byte) (*Trace, error) {
	t := &Trace{Counters: map[string][]float64{}, Processes: map[int]string{}, Threads: map[int]string{}}
	tracks, sequences := map[uint64]*track{}, map[uint64]*sequence{}
	var all []occurrence
	for len(b) > 0 {
		size, cut := packetSize(b)
		if cut {
			t.Cut = len(b)
			break
		}
		m, err := decode("Trace", b[:size])
		if err != nil {
			return nil, err
		}
		p := get[message](m, "packet")
		if p == nil {
			return nil, errors.New("a field that is no packet")
		}
		b = b[size:]
		id := get[uint64](p, "trusted_packet_sequence_id")
		seq := sequences[id]
		if flags := get[uint64](p, "sequence_flags"); flags&1 != 0 { // SEQ_INCREMENTAL_STATE_CLEARED
			seq = &sequence{interned: map[string]map[uint64]message{}, clock: get[uint64](get[message](p, "trace_packet_defaults"), "timestamp_clock_id")}
			sequences[id] = seq
			t.Restarts++
		}
		if seq == nil {
			return nil, fmt.Errorf("a packet of sequence %d, which has not begun", id)
		}
		if err := t.readClocks(get[message](p, "clock_snapshot")); err != nil {
			return nil, err
		}
		if d := get[message](p, "track_descriptor"); d != nil {
			t.describe(tracks, d)
		}
		seq.intern(get[message](p, "interned_data"))
		if e := get[message](p, "track_event"); e != nil {
			if seq.clock != t.Clock {
				return nil, fmt.Errorf("an event has the time of clock %d, the trace of %d", seq.clock, t.Clock)
			}
			// Later packets may add to what was interned.
			all = append(all, occurrence{get[uint64](p, "timestamp"), e, seq})
		}
	}
	t.Tracks, t.Restarts = len(tracks), t.Restarts-1
	slices.SortStableFunc(all, func(a, b occurrence) int { return cmp.Compare(a.at, b.at) })
	return t, t.play(all, tracks)
}

// readClocks reads a comparison of clocks.
func (t *Trace) readClocks(m message) error {
	if m == nil {
		return nil
	}
	t.Clock = get[uint64](m, "primary_trace_clock")
	at := map[uint64]uint64{}
	for _, c := range m["clocks"] {
		at[get[uint64](c.(message), "clock_id")] = get[uint64](c.(message), "timestamp")
	}
	if at[boottime] == 0 || at[realtime] == 0 || at[t.Clock] == 0 {
		return fmt.Errorf("the clock of the kernel's traces, the wall clock and that of the trace, %d, are not compared: %v", t.Clock, at)
	}
	t.Ahead = time.Duration(at[realtime] - at[t.Clock])
	return nil
}

// Numbers of clocks, see BuiltinClock.
const (
	realtime = 1
	boottime = 6
)

// describe reads the description of a track.
func (t *Trace) describe(tracks map[uint64]*track, d message) {
	tr := &track{parent: get[uint64](d, "parent_uuid"), name: get[string](d, "name"), counter: d["counter"] != nil}
	tracks[get[uint64](d, "uuid")] = tr
	if p := get[message](d, "process"); p != nil {
		tr.pid = int(get[int64](p, "pid"))
		t.Processes[tr.pid] = get[string](p, "process_name")
	}
	if th := get[message](d, "thread"); th != nil {
		tr.pid, tr.tid = int(get[int64](th, "pid")), int(get[int64](th, "tid"))
		t.Threads[tr.tid] = get[string](th, "thread_name")
	}
	if parent := tracks[tr.parent]; parent != nil && tr.pid == 0 {
		tr.pid = parent.pid
	}
}

func (s *sequence) intern(m message) {
	for name, entries := range m {
		if s.interned[name] == nil {
			s.interned[name] = map[uint64]message{}
		}
		for _, e := range entries {
			s.interned[name][get[uint64](e.(message), "iid")] = e.(message)
		}
	}
}

// text returns an interned text, whose field is called str or name.
func (s *sequence) text(field string, iid uint64) (string, error) {
	m, ok := s.interned[field][iid]
	if !ok {
		return "", fmt.Errorf("%s %d is not interned", field, iid)
	}
	return get[string](m, "str") + get[string](m, "name"), nil
}

// stack returns the functions of a stack, the innermost first, with file and line, or with
// the module and the offset in it.
func (s *sequence) stack(iid uint64) (stack []string, err error) {
	m, ok := s.interned["callstacks"][iid]
	if !ok {
		return nil, fmt.Errorf("stack %d is not interned", iid)
	}
	text := func(field string, m message, name string) string {
		n := get[uint64](m, name)
		if n == 0 {
			return ""
		}
		v, missing := s.text(field, n)
		err = cmp.Or(err, missing)
		return v
	}
	for _, id := range slices.Backward(m["frame_ids"]) {
		f, ok := s.interned["frames"][id.(uint64)]
		if !ok {
			return nil, fmt.Errorf("frame %d is not interned", id)
		}
		name := text("function_names", f, "function_name_id")
		if source := text("source_paths", f, "source_path_iid"); source != "" {
			name += fmt.Sprintf(" (%s:%d)", source, get[uint64](f, "line_number"))
		}
		if n := get[uint64](f, "mapping_id"); n != 0 {
			mapping, ok := s.interned["mappings"][n]
			if !ok {
				return nil, fmt.Errorf("mapping %d is not interned", n)
			}
			text("build_ids", mapping, "build_id")
			path := text("mapping_paths", mapping, "path_string_ids")
			if !strings.HasPrefix(path, "/") {
				path = "/" + path
			}
			name += fmt.Sprintf(" [%s+%#x]", path, get[uint64](f, "rel_pc"))
		}
		stack = append(stack, strings.TrimSpace(name))
	}
	return stack, err
}
