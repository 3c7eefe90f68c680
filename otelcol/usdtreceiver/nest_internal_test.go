package usdtreceiver

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/sys"
)

// TestNest checks for how long spans wait for the ones around them, which may come later, of traces with
// more or less patience.
func TestNest(t *testing.T) {
	began := time.Now()
	var given []*span
	patient := func(d time.Duration) *nest {
		return &nest{patience: d, give: func(s *span) { given = append(given, s) }, stop: make(chan struct{})}
	}
	short, long := patient(10*time.Second), patient(40*time.Second)
	add := func(n *nest, tid, from, to int) *span {
		at := func(ms int) time.Time { return began.Add(time.Duration(ms) * time.Millisecond) }
		s := &span{Pair: attach.Pair{Start: event.Event{PID: 1, TID: tid, Time: at(from)}, End: event.Event{PID: 1, TID: tid, Time: at(to)}, Took: at(to).Sub(at(from))},
			trace: random[pcommon.TraceID](), id: random[pcommon.SpanID]()}
		if !n.add(s) {
			t.Fatal("a span does not wait")
		}
		return s
	}
	pass := func(n *nest, d time.Duration, want ...*span) {
		t.Helper()
		given = nil
		n.handOn(time.Now().Add(d))
		if len(given) != len(want) {
			t.Fatalf("%d spans are given, want %d", len(given), len(want))
		}
		for _, s := range want {
			if !slices.Contains(given, s) {
				t.Errorf("another span is given than that from %v", s.Start.Time.Sub(began))
			}
		}
	}
	child := func(s, of *span) {
		t.Helper()
		if s.parent != of.id || s.trace != of.trace {
			t.Errorf("the span from %v is a child of %s in %s, want %s in %s", s.Start.Time.Sub(began), s.parent, s.trace, of.id, of.trace)
		}
	}
	inner, waits := add(short, 1, 10, 20), add(long, 1, 30, 40)
	elsewhere := add(short, 2, 0, 100)
	pass(short, 0)
	outer := add(short, 1, 5, 50)
	pass(short, 15*time.Second, inner, elsewhere, outer)
	child(inner, outer)
	late := add(short, 1, 21, 22) // it lies within one that has been given
	pass(short, 15*time.Second, late)
	child(late, outer)
	pass(long, 15*time.Second)
	pass(short, 30*time.Second) // it forgets all, and within which others lie
	pass(long, 15*time.Second, waits)
	child(waits, outer)
	for _, s := range []*span{outer, elsewhere} {
		if !s.parent.IsEmpty() {
			t.Errorf("the span from %v has a parent", s.Start.Time.Sub(began))
		}
	}
	pass(long, 90*time.Second)
	first := add(short, 1, 200, 210)
	around := add(long, 1, 190, 220)
	given = nil
	long.close() // before the one that waits for its spans
	short.close()
	if child(first, around); len(given) != 2 || Waiting() != 0 {
		t.Errorf("%d spans are given at the end, and %d wait", len(given), Waiting())
	}
}

// around returns the shortest span that another one lies within, nil if there is none.
func around(all []*nested, s *nested) (found *nested) {
	for _, other := range all {
		if other.Took > s.Took && (found == nil || other.Took < found.Took) &&
			other.Start.Time.Sub(s.Start.Time) <= clocks && s.End.Time.Sub(other.End.Time) <= clocks {
			found = other
		}
	}
	return found
}

// spanning returns a span of one thread from one time to another.
func spanning(from, to time.Duration) *nested {
	began := time.Unix(1000, 0)
	return &nested{span: &span{Pair: attach.Pair{Start: event.Event{Time: began.Add(from)}, End: event.Event{Time: began.Add(to)}, Took: to - from}}}
}

// TestEnclose compares with a search among all spans, of calls and of what begins and ends in any order.
func TestEnclose(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var all []*nested
		for range random.IntN(30) {
			from := time.Duration(random.IntN(5000)) // near the clocks' difference also
			all = append(all, spanning(from, from+time.Duration(random.IntN(2000))))
		}
		enclose(all)
		for _, s := range all {
			want := around(all, s)
			if s.outer != want && (want == nil || s.outer == nil || s.outer.Took != want.Took) {
				t.Fatalf("the span from %v, %v long, lies within %v, want %v", s.Start.Time, s.Took, s.outer, want)
			}
		}
	}
}

// TestEncloseMany checks that what many spans of one thread take grows about as their number does.
func TestEncloseMany(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	took := func(n int) time.Duration {
		var all []*nested
		for i := range n {
			at := time.Duration(i) * time.Microsecond
			all = append(all, spanning(at, at+time.Duration(500)))
		}
		least := time.Duration(math.MaxInt64)
		for range 5 {
			began := sys.ThreadTime()
			enclose(all)
			least = min(least, sys.ThreadTime()-began)
		}
		return least
	}
	const few, times = 1 << 10, 16
	few1, many := took(few), took(times*few)
	t.Logf("%d spans take %v, %d take %v", few, few1, times*few, many)
	if most := 8 * times * few1; many > most {
		t.Errorf("%d spans take %v, %d times as many %v, want at most %v", few, few1, times, many, most)
	}
}
