package perfetto

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/systest/timeline"
	"github.com/go-usdt/usdt/symbols"
)

// began is when the events of these tests fire: after the machine has been started, which
// may be a minute ago.
var began = time.Now().Truncate(time.Second)

// fired returns an event of a thread, that many microseconds after the beginning.
func fired(pid, tid, at int, name string, args ...event.Arg) *event.Event {
	return &event.Event{Time: began.Add(time.Duration(at) * time.Microsecond), PID: pid, TID: tid, Comm: fmt.Sprintf("comm%d", tid), Provider: "p", Name: name, Args: args}
}

func arg(name string, value any) event.Arg { return event.Arg{Name: name, Value: value} }

// written returns what a Writer has written as a reader sees it. Perfetto's own
// trace_processor has to see the same.
func written(t *testing.T, o Options, write func(w *Writer)) *timeline.Trace {
	t.Helper()
	var out bytes.Buffer
	w := New(&out, &o)
	write(w)
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	trace, err := timeline.Read(out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if trace.Cut != 0 {
		t.Errorf("the last packet lacks its end")
	}
	trace.Compare(t, out.Bytes())
	return trace
}

// TestArguments checks arguments of all types, their errors and their nesting.
func TestArguments(t *testing.T) {
	trace := written(t, Options{}, func(w *Writer) {
		w.Event(fired(1, 2, 0, "n",
			arg("u", uint64(math.MaxUint64)), arg("i", int64(-5)), arg("b", true), arg("f", 0.5), arg("s", "text"), arg("bad", "a\xff"),
			arg("d", 3*time.Second), arg("at", time.Unix(1, 5).UTC()), arg("ip", netip.MustParseAddr("10.0.0.1")), arg("noip", netip.Addr{}),
			arg("bytes", []byte{0, 'x'}), arg("nothing", nil), arg("empty", event.Struct{}), arg("none", event.List{}), arg("arg7", uint64(1)<<40),
			event.Arg{Name: "cut", Value: "begin", Err: event.ErrTruncated}, event.Arg{Name: "gone", Err: event.ErrFault},
			arg("peer", event.Struct{arg("host", "h"), arg("port", uint64(80)), arg("tags", event.List{arg("", "a"), arg("", event.Struct{arg("k", int64(1))})})}),
		))
	})
	want := map[string]any{
		"u": uint64(math.MaxUint64), "i": int64(-5), "b": true, "f": 0.5, "s": "text", "bad": `a\xff`,
		"d": int64(3 * time.Second), "at": "1970-01-01T00:00:01.000000005Z", "ip": "10.0.0.1", "noip": "none",
		"bytes": `b"\x00x"`, "nothing": "nil", "empty": "{}", "none": "[]", "arg7": uint64(1) << 40,
		"cut": "begin...", "gone": "?(memory not readable)",
		"peer.host": "h", "peer.port": uint64(80), "peer.tags[0]": "a", "peer.tags[1].k": int64(1),
	}
	if d := cmp.Diff(want, trace.Slices[0].Args); d != "" {
		t.Errorf("arguments (-want +got):\n%s", d)
	}
	if s := trace.Slices[0]; !s.Instant || s.PID != 1 || s.TID != 2 || s.Name != "p:n" || s.Category != "p" {
		t.Errorf("the event is %+v", s)
	}
	if wall := trace.Wall(trace.Slices[0]); wall.Sub(began).Abs() > time.Millisecond || trace.Clock != clockBoottime {
		t.Errorf("the event fired at %v, want %v, by the clock that goes on while the machine sleeps", wall, began)
	}
}

// TestNames checks the names of tracks, also of processes without a number, of threads that
// take other names, and of events without a thread.
func TestNames(t *testing.T) {
	o := Options{Recorded: true, Names: func(pid int) string { return map[int]string{10: "ten"}[pid] }}
	trace := written(t, o, func(w *Writer) {
		w.Event(fired(10, 11, 0, "a"))
		w.Event(fired(20, 20, 0, "a"))
		w.Event(fired(30, 31, 0, "a"))
		w.Event(fired(40, 0, 0, "a"))
		w.Event(fired(0, 0, 0, "a"))
		renamed := fired(20, 20, 1, "a")
		renamed.Comm = "other"
		w.Event(renamed)
	})
	if d := cmp.Diff(map[int]string{10: "ten", 20: "other", 30: "comm31", 40: "comm0"}, trace.Processes); d != "" {
		t.Errorf("processes (-want +got):\n%s", d)
	}
	if d := cmp.Diff(map[int]string{11: "comm11", 20: "other", 31: "comm31"}, trace.Threads); d != "" {
		t.Errorf("threads (-want +got):\n%s", d)
	}
	if trace.Clock != clockRealtime || !trace.Wall(trace.Slices[0]).Equal(began) {
		t.Errorf("the first event is of %v by clock %d, want %v by the wall clock", trace.Wall(trace.Slices[0]), trace.Clock, began)
	}
	if s := trace.Slices[4]; s.PID != 0 || s.Lane != "comm0" {
		t.Errorf("an event of a process without a number is %+v", s)
	}
}

// TestFlows checks that arrows lead from event to event that has an argument in common, of
// any type, through processes and slices.
func TestFlows(t *testing.T) {
	trace := written(t, Options{Flows: []string{"id", "peer.id"}}, func(w *Writer) {
		w.Event(fired(1, 1, 0, "a", arg("id", "7")))
		w.Event(fired(2, 2, 10, "b", arg("id", int64(7))))
		w.Event(fired(1, 1, 20, "c", arg("id", "8")))
		w.Event(fired(1, 1, 21, "c", arg("id", "")))
		w.Event(fired(1, 1, 22, "c", arg("id", uint64(0))))
		w.Event(fired(1, 1, 23, "c", arg("id", "")))
		w.Event(fired(1, 1, 24, "c", arg("id", uint64(0))))
		w.Slice(fired(3, 3, 5, "d_start"), fired(3, 3, 30, "d_done", arg("id", uint64(7))), false)
		w.Event(fired(1, 1, 40, "e", arg("peer", event.Struct{arg("id", "9")})))
		w.Event(fired(1, 1, 50, "f", arg("peer", event.Struct{arg("id", "9")}), arg("id", "8")))
		w.Event(fired(1, 1, 60, "g", arg("id", event.Hex{0x8c, 0x17})))
		w.Event(fired(2, 2, 70, "h", arg("id", "8c17")))
		w.Event(fired(1, 1, 80, "i", arg("id", event.Hex{0, 0})))
		w.Event(fired(2, 2, 90, "j", arg("id", event.Hex{0, 0})))
	})
	var got []string
	for _, f := range trace.Flows {
		got = append(got, f[0].Name+" "+f[1].Name)
	}
	if want := []string{"p:a p:d", "p:d p:b", "p:c p:f", "p:e p:f", "p:g p:h"}; !slices.Equal(got, want) {
		t.Errorf("arrows %q, want %q", got, want)
	}
}

// TestCounters checks numbers of all types, by process.
func TestCounters(t *testing.T) {
	trace := written(t, Options{Counters: []string{"v", "peer.n"}}, func(w *Writer) {
		for i, v := range []any{uint64(1), int64(-2), 0.25, time.Microsecond, "text", nil} {
			w.Event(fired(1, 1, i, "a", arg("v", v)))
		}
		w.Event(fired(2, 2, 10, "b", arg("peer", event.Struct{arg("n", uint64(math.MaxUint64))})))
	})
	want := map[string][]float64{"1 p:a v": {1, -2, 0.25, 1000}, "2 p:b peer.n": {math.MaxInt64}}
	if d := cmp.Diff(want, trace.Counters); d != "" {
		t.Errorf("counters (-want +got):\n%s", d)
	}
}

// TestStacks checks that stacks begin with the outermost call, and have numbers of their own
// only if they differ.
func TestStacks(t *testing.T) {
	var sizes []int
	trace := written(t, Options{}, func(w *Writer) {
		for _, pcs := range [][]uint64{{1, 2}, {1, 2}, {1}, nil} {
			ev := fired(1, 1, 0, "a")
			ev.Stack = &event.Stack{PCs: pcs}
			w.Event(ev)
			sizes = append(sizes, len(w.interned.stacks))
		}
	})
	if !slices.Equal(sizes, []int{1, 1, 2, 2}) {
		t.Errorf("%v stacks are interned", sizes)
	}
	for i, want := range []int{2, 2, 1, 0} {
		if got := trace.Slices[i].Stack; len(got) != want || want > 0 && got[0] != "[unknown] (0x1)" {
			t.Errorf("event %d has the calls %q, want %d", i, got, want)
		}
	}
}

// TestFrames checks calls of all kinds: with and without function, file, line and module.
func TestFrames(t *testing.T) {
	frames := []symbols.Frame{
		{Address: 0x1010, Func: "inlined", File: "/src/a.go", Line: 7, Module: "/bin/x", BuildID: "0a0b", Offset: 0x10},
		{Address: 0x1010, Func: "f", File: "/src/a.go", Line: 5, Module: "/bin/x", BuildID: "0a0b", Offset: 0x10},
		{Address: 0x1020, Func: "f", File: "/src/a.go", Line: 6, Module: "/bin/x", BuildID: "0a0b", Offset: 0x20},
		{Address: 0x2020, Func: "f", Module: "/bin/y", Offset: 0x20},
		{Address: 0x2030, Module: "/bin/y", Offset: 0x30},
		{Address: 0x3000, Module: "//anon", Offset: 0x3000},
		{Address: 0x4000, Module: "[vdso]", Offset: 0x40},
		{Address: 0x5000, Func: "compiled"},
		{Address: 0x6000, Func: "script", File: "s.py", Line: 1},
		{Address: 0x6000, Func: "script", File: "s.py", Line: 2},
		{Address: 0x7000},
	}
	trace := written(t, Options{}, func(w *Writer) {
		ev := fired(1, 1, 0, "a")
		b := appendUint(nil, eventType, instant)
		b = w.appendPlace(b, w.thread(ev), "p", "p:a")
		w.writeEvent(w.clock.at(ev.Time), appendUint(b, eventCallstack, w.interned.stack(frames)))
	})
	want := []string{
		"inlined (/src/a.go:7) [/bin/x+0x10]", "f (/src/a.go:5) [/bin/x+0x10]", "f (/src/a.go:6) [/bin/x+0x20]",
		"f [/bin/y+0x20]", "[/bin/y+0x30]", "[/anon+0x3000]", "[/[vdso]+0x40]",
		"compiled", "script (s.py:1)", "script (s.py:2)", "[unknown] (0x7000)",
	}
	if d := cmp.Diff(want, trace.Slices[0].Stack); d != "" {
		t.Errorf("calls (-want +got):\n%s", d)
	}
}

// TestBounded checks that memory stays bounded when each event has names, tracks and
// slices of its own, and that nothing of the trace is lost.
func TestBounded(t *testing.T) {
	const events = 3 * maxTracks / 2
	trace := written(t, Options{Counters: []string{"v"}}, func(w *Writer) {
		w.most = 100 << 10
		for i := range events {
			w.Event(fired(1+i, 1+i, i, fmt.Sprint("name", i), arg(fmt.Sprint("arg", i), "x"), arg("v", uint64(i))))
			if len(w.tracks) > maxTracks || w.interned.size > w.most+10*entrySize || cap(w.buf) > 2*flushSize {
				t.Fatalf("%d tracks, %d bytes interned, %d bytes buffered", len(w.tracks), w.interned.size, cap(w.buf))
			}
		}
		for i := range 3 * maxNested { // one around all
			w.Slice(fired(1, 1, 2*i+1, "in_start"), fired(1, 1, 2*i+2, "in_done"), false)
		}
		w.Slice(fired(1, 1, 0, "out_start"), fired(1, 1, 1e6, "out_done"), false)
		for i := range maxLanes + 2 { // all at once
			w.Slice(fired(2, 2, i, "all_start"), fired(2, 2, 1e6+i, "all_done"), true)
		}
		for k, track := range w.tracks {
			if len(track.busy) > maxIntervals || len(track.nest) > maxNested {
				t.Errorf("track %v remembers %d and %d slices", k, len(track.busy), len(track.nest))
			}
		}
	})
	if n := len(trace.Slices); n != events+3*maxNested+1+maxLanes+2 || trace.Restarts < 10 {
		t.Errorf("%d events, and %d times what was interned forgotten", n, trace.Restarts)
	}
	if len(trace.Processes) != events || len(trace.Counters) != events {
		t.Errorf("%d processes and %d counters, want %d", len(trace.Processes), len(trace.Counters), events)
	}
	out := trace.Named("p:out")[0]
	if in := trace.Named("p:in"); in[0].Parent != out || in[len(in)-1].Parent != out {
		t.Error("the slices within another one do not nest")
	}
	for i, s := range trace.Named(fmt.Sprint("p:name", 3)) {
		if i > 0 || s.Args["arg3"] != "x" {
			t.Errorf("event 3 is %+v", s)
		}
	}
}

// cutting is an output that takes so many bytes, and remembers where it was written to.
type cutting struct {
	bytes.Buffer
	room  int
	after []int
}

var errFull = errors.New("disk full")

func (c *cutting) Write(b []byte) (int, error) {
	if c.Len()+len(b) > c.room {
		return 0, errFull
	}
	defer func() { c.after = append(c.after, c.Len()) }()
	return c.Buffer.Write(b)
}

// TestWholePackets checks that a trace can be read wherever it ends: after each write there
// are whole packets, a packet that was cut off is left out, and errors of the output are kept.
func TestWholePackets(t *testing.T) {
	out := &cutting{room: 1 << 20}
	w := New(out, &Options{})
	for i := range 4000 {
		w.Event(fired(1, 1, i, "a", arg("text", string(bytes.Repeat([]byte("x"), i%300)))))
		w.Slice(fired(1, 1, i, "b_start"), fired(1, 1, i+1, "b_done"), true)
	}
	if err := w.Flush(); err != nil || len(out.after) < 5 {
		t.Fatalf("error %v, %d writes", err, len(out.after))
	}
	for _, n := range out.after {
		if trace, err := timeline.Read(out.Bytes()[:n]); err != nil || trace.Cut != 0 {
			t.Errorf("after %d bytes: error %v, %d bytes of a packet", n, err, trace.Cut)
		}
	}
	for n := range 2000 {
		if _, err := timeline.Read(out.Bytes()[:n]); err != nil {
			t.Fatalf("cut off after %d bytes: %v", n, err)
		}
	}
	out.room = 0
	w.Event(fired(1, 1, 0, "a"))
	if err := w.Flush(); !errors.Is(err, errFull) || !errors.Is(w.Err(), errFull) {
		t.Errorf("error %v, and later %v, want %v", err, w.Err(), errFull)
	}
}
