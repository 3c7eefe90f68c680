package attach_test

import (
	"errors"
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
)

// kept returns what Arg.Value would be.
func kept(v event.Value) any {
	value, _ := v.Any()
	return value
}

// TestViews compares views with their events.
func TestViews(t *testing.T) { sharedToo(t, checkViews) }

func checkViews(t *testing.T) {
	p := startChild(t, "typed")
	p.Do("load")
	s := openEvents(t, "typed:*", &attach.EventOptions{MaxString: 100}, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
	for _, c := range []string{"ints", "others", "text", "bare"} {
		p.Do("%s", c)
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	n := 0
	for v, err := range s.Views() {
		if err != nil {
			t.Fatal(err)
		}
		n++
		ev, err := v.Event()
		if err != nil {
			t.Fatal(err)
		}
		if v.PID() != ev.PID || v.TID() != ev.TID || v.Comm() != ev.Comm || !v.Time().Equal(ev.Time) || v.Probe() != ev.Probe || v.Len() != len(ev.Args) {
			t.Errorf("view of %s differs from event %+v", v.Probe().Name, ev)
		}
		nan := cmp.Comparer(func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) })
		for i, a := range ev.Args {
			byName, ok := v.Lookup(a.Name)
			if got := v.Arg(i); v.Name(i) != a.Name || !ok || !cmp.Equal(kept(got), a.Value, nan) || !cmp.Equal(kept(byName), a.Value, nan) || errText(got.Err) != errText(a.Err) {
				t.Errorf("%s:%s is %v (%v), want %v (%v)", ev.Name, v.Name(i), kept(got), got.Err, a.Value, a.Err)
			}
		}
		if _, ok := v.Lookup("nothing"); ok {
			t.Errorf("%s has an argument nothing", ev.Name)
		}
	}
	if st := checkSum(t, s); n != 8 || st.Received != 8 {
		t.Errorf("%d views, stats %+v, want 8", n, st)
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestNestedViews looks into structs, arrays and behind pointers.
func TestNestedViews(t *testing.T) { sharedToo(t, checkNestedViews) }

func checkNestedViews(t *testing.T) {
	p := startChild(t, "nested")
	p.Do("load")
	s := open(t, "nest:record", &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Follow: []string{"Up", "Nobody"}})
	p.Do("fire")
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	for v, err := range s.Views() {
		if err != nil {
			t.Fatal(err)
		}
		for path, want := range map[string]any{
			"ID": uint64(7), "Peer.Host": "here", "Small.A": int64(-1), "Scores[2]": -3.0, "Names[1]": "two",
			"Up.Port": uint64(8080), "Up.Host": "up", "Key": event.Hex{1, 2, 3, 255}, "Inner.Deep.Text": "deep",
			"Peer": nil, "Sizes": nil, "Tags": nil, "Nobody": nil,
		} {
			if got, ok := v.Lookup(path); !ok || got.Err != nil || !cmp.Equal(kept(got), want) {
				t.Errorf("%s is %v (%v, %t), want %v", path, kept(got), got.Err, ok, want)
			}
		}
		if got, ok := v.Lookup("Nobody.Port"); !ok || !errors.Is(got.Err, event.ErrFault) {
			t.Errorf("what lies behind nil is %v (%v)", kept(got), got.Err)
		}
		if _, ok := v.Lookup("Peer.Next.Port"); ok {
			t.Error("a pointer was followed that nobody named")
		}
		break
	}
}

// consume reads n events as views, or as events, and returns the allocations.
func consume(t testing.TB, s *attach.Session, n int, views bool) (allocations uint64, took time.Duration) {
	t.Helper()
	var before, after runtime.MemStats
	var sum uint64
	runtime.ReadMemStats(&before)
	start := time.Now()
	if views {
		for v, err := range s.Views() {
			if err != nil {
				t.Fatal(err)
			}
			for i := range v.Len() {
				a := v.Arg(i)
				sum += a.Uint() + uint64(a.Int()) + uint64(len(a.Bytes()))
			}
			if n--; n == 0 {
				break
			}
		}
	} else {
		for ev, err := range s.Events() {
			if err != nil {
				t.Fatal(err)
			}
			for i := range ev.Args {
				switch v := ev.Args[i].Value.(type) {
				case uint64:
					sum += v
				case int64:
					sum += uint64(v)
				case string:
					sum += uint64(len(v))
				}
			}
			if n--; n == 0 {
				break
			}
		}
	}
	took = time.Since(start)
	runtime.ReadMemStats(&after)
	if sum == 0 {
		t.Error("the events hold nothing")
	}
	return after.Mallocs - before.Mallocs, took
}

// TestViewsDoNotAllocate checks that views allocate no memory.
func TestViewsDoNotAllocate(t *testing.T) { sharedToo(t, checkViewsDoNotAllocate) }

func checkViewsDoNotAllocate(t *testing.T) {
	if testing.Short() {
		t.Skip("short: it fires 200,000 times, and no kernel makes a difference")
	}
	p := startChild(t, "typed")
	p.Do("load")
	s := openEvents(t, "typed:*", &attach.EventOptions{RingSize: 64 << 20}, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
	p.Do("flood")
	// The iterator and the runtime allocate a few times.
	if n, _ := consume(t, s, 100_000, true); n > 1000 {
		t.Errorf("%d allocations for 100000 views, want next to none", n)
	}
	if n, _ := consume(t, s, 100_000, false); n < 100_000 {
		t.Errorf("%d allocations for 100000 events: the test measures nothing", n)
	}
}

// BenchmarkConsume measures what an event costs its consumer, as a view and as an
// Event.
func BenchmarkConsume(b *testing.B) {
	p := startChild(b, "typed")
	p.Do("load")
	s := openEvents(b, "typed:*", &attach.EventOptions{RingSize: 64 << 20}, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
	const events = 200_000 + 200_000/64
	for _, views := range []bool{true, false} {
		name := "events"
		if views {
			name = "views"
		}
		b.Run(name, func(b *testing.B) {
			var allocations uint64
			var took time.Duration
			for range b.N {
				p.Do("flood")
				n, t := consume(b, s, events, views)
				allocations, took = allocations+n, took+t
			}
			b.ReportMetric(float64(took.Nanoseconds())/float64(b.N*events), "ns/event")
			b.ReportMetric(float64(allocations)/float64(b.N*events), "allocs/event")
		})
	}
}
