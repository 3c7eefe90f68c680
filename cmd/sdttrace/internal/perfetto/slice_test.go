package perfetto

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestSlices checks that slices of a thread nest on its track, that others have tracks on
// which they overlap with none, and what they are called.
func TestSlices(t *testing.T) {
	trace := written(t, Options{}, func(w *Writer) {
		slice := func(tid, from, to int, name string, keyed bool) {
			w.Slice(fired(1, tid, from, name+"__start", arg("id", uint64(from)), arg("n", "a")), fired(1, tid, to, name+"__done", arg("id", uint64(from)), arg("n", "b"), arg("to", uint64(to))), keyed)
		}
		slice(5, 10, 20, "inner", false)
		slice(5, 30, 40, "inner", false)
		slice(5, 32, 38, "innermost", false) // which another session delivers late
		slice(5, 0, 100, "outer", false)
		slice(5, 90, 110, "across", false)
		for i := range 10 {
			slice(6, 10*i, 10*i+25, "keyed", true)
		}
		w.Slice(fired(1, 7, 0, "same"), fired(1, 8, 5, "same"), false) // of two threads
		w.Slice(fired(1, 7, 0, "reply"), fired(1, 7, 5, "request"), false)
	})
	depth := map[string]int{}
	lanes := map[uint64]int{}
	for _, s := range trace.Slices {
		if s.Open || s.Instant {
			t.Errorf("%s has no end", s.Name)
		}
		switch s.Name {
		case "p:inner", "p:outer", "p:innermost":
			depth[s.Name] = s.Depth
			if s.TID != 5 {
				t.Errorf("%s is on the track of thread %d, want 5", s.Name, s.TID)
			}
		case "p:across", "p:keyed", "p:same":
			if s.TID != 0 || s.Depth != 0 || s.PID != 1 || s.Lane != s.Name {
				t.Errorf("%s is on track %q of thread %d, at depth %d, want its own", s.Name, s.Lane, s.TID, s.Depth)
			}
			if s.Name == "p:keyed" {
				lanes[s.Track]++
			}
		}
	}
	if d := cmp.Diff(map[string]int{"p:outer": 0, "p:inner": 1, "p:innermost": 2}, depth); d != "" {
		t.Errorf("depths (-want +got):\n%s", d)
	}
	if len(lanes) != 3 {
		t.Errorf("slices of which 3 overlap have %d tracks, want 3", len(lanes))
	}
	if s := trace.Named("p:outer")[0]; s.Took != 100*time.Microsecond || !cmp.Equal(s.Args, map[string]any{"id": uint64(0), "n": "a", "end.n": "b", "to": uint64(100)}) {
		t.Errorf("the outer slice takes %v and has %v", s.Took, s.Args)
	}
	if len(trace.Named("p:reply to request")) != 1 {
		t.Error("no slice is called p:reply to request")
	}
}

// TestSameTimes checks slices that begin or end at the same time as others on their thread:
// none cuts another one short, and slices that can nest do.
func TestSameTimes(t *testing.T) {
	trace := written(t, Options{}, func(w *Writer) {
		slice := func(name string, from, to int) {
			w.Slice(fired(1, 1, from, name+"_start"), fired(1, 1, to, name+"_done"), false)
		}
		slice("begins", 0, 5)
		slice("around", 0, 10)
		slice("ends", 105, 110)
		slice("around", 100, 110)
		slice("around", 200, 210)
		slice("begins", 200, 205)
		slice("around", 300, 310)
		slice("ends", 305, 310)
		slice("twice", 400, 410)
		slice("twice", 400, 410)
		slice("first", 500, 510)
		slice("next", 510, 520)
		slice("empty", 600, 600)
		slice("next", 600, 610)
		for range 2 {
			w.Event(fired(1, 1, 700, "instant"))
		}
		w.Event(fired(1, 1, 800, "begins_start"))
		slice("begins", 800, 810)
	})
	took := map[string]time.Duration{"p:begins": 5, "p:ends": 5, "p:empty": 0}
	nested := 0
	for _, s := range trace.Slices {
		want, ok := took[s.Name]
		if !ok || s.At == trace.Slices[0].At+800_000 {
			want = 10
		}
		if !s.Instant && s.Took != want*time.Microsecond {
			t.Errorf("%s takes %v, want %d µs", s.Name, s.Took, want)
		}
		if s.Parent != nil && !s.Instant {
			nested++
		}
	}
	if nested != 2 {
		t.Errorf("%d slices are within others, want 2", nested)
	}
}

// TestLateSpan writes what is within thousands of slices, of another span, when all of those
// have been written: each is on the track of its thread, and within its own.
func TestLateSpan(t *testing.T) {
	const statements = maxNested / 2
	trace := written(t, Options{}, func(w *Writer) {
		for i := range statements {
			w.Slice(fired(1, 1, 10*i, "query_start", arg("id", i)), fired(1, 1, 10*i+8, "query_done"), false)
		}
		for i := range statements {
			w.Slice(fired(1, 1, 10*i+2, "wait_start", arg("id", i)), fired(1, 1, 10*i+4, "wait_done"), false)
		}
	})
	for _, s := range trace.Named("p:wait") {
		if s.Parent == nil || s.Parent.Name != "p:query" || s.Parent.Args["id"] != s.Args["id"] {
			t.Fatalf("a wait is %+v, within %+v", s, s.Parent)
		}
	}
	if n := len(trace.Named("p:wait")); n != statements {
		t.Errorf("%d waits, want %d", n, statements)
	}
}

// TestAnyOrder writes slices of three spans on one thread, each of which delivers its own as
// they end, and the three in any order: whatever overlaps, each slice is as long as it was.
func TestAnyOrder(t *testing.T) {
	t.Run("nesting", func(t *testing.T) { testAnyOrder(t, false) })
	t.Run("beside", func(t *testing.T) { testAnyOrder(t, true) })
}

func testAnyOrder(t *testing.T, keyed bool) {
	const spans, each = 3, 400
	random := rand.New(rand.NewPCG(1, 2))
	took := map[string]time.Duration{}
	trace := written(t, Options{}, func(w *Writer) {
		type slice struct{ from, to int }
		var late [spans][]slice
		now := 0
		for i := range spans * each {
			now += random.IntN(4)
			s := i % spans
			late[s] = append(late[s], slice{now - min(now, random.IntN(40)), now})
		}
		for n := range spans * each {
			s := random.IntN(spans)
			for len(late[s]) == 0 {
				s = (s + 1) % spans
			}
			one := late[s][0]
			late[s] = late[s][1:]
			id := fmt.Sprint(n)
			took[id] = time.Duration(one.to-one.from) * time.Microsecond
			w.Slice(fired(1, 1, one.from, fmt.Sprint("s", s, "_start"), arg("id", id)), fired(1, 1, one.to, fmt.Sprint("s", s, "_done")), keyed)
		}
	})
	nested := 0
	for _, s := range trace.Slices {
		if id := s.Args["id"].(string); s.Open || s.Took != took[id] {
			t.Errorf("slice %s of %s takes %v, want %v", id, s.Name, s.Took, took[id])
		}
		if s.Parent != nil {
			nested++
		}
	}
	if len(trace.Slices) != spans*each || !keyed && nested < each/10 || keyed && nested > 0 {
		t.Errorf("%d slices, %d within others", len(trace.Slices), nested)
	}
}
