package attach_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
)

func openSpans(t testing.TB, selectors []string, what *attach.SpanOptions, opts *attach.Options) *attach.Spans {
	t.Helper()
	s, err := attach.OpenSpans(t.Context(), selectors, what, opts)
	if err != nil {
		needPrivileges(t, err)
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// TestSpans compares the events and the pairs of one session with what fired: each site is
// attached to once, and each event delivered and counted once, however many spans have it.
func TestSpans(t *testing.T) { sharedToo(t, checkSpans) }

func checkSpans(t *testing.T) {
	p := startChild(t, "pairing")
	p.Do("load")
	const start, end = "pairing:start", "pairing:end"
	carried, keyed := attach.Span{Start: start, End: end}, attach.Span{Start: start, End: end, Key: []string{"id"}}
	for _, test := range []struct {
		selectors []string
		where     string
		commands  []string
		events    uint64 // that are shown
		received  uint64
		want      [2]attach.PairStats // of the two spans
	}{
		{[]string{"pairing:*"}, "", []string{"nest 5 500"}, 10, 10, [2]attach.PairStats{{Pairs: 5}, {Pairs: 5}}},
		{[]string{"pairing:*", start}, "", []string{"start 1", "nest 2 200", "end 7"}, 6, 6, [2]attach.PairStats{{Pairs: 3}, {Pairs: 2, Pending: 1, Unstarted: 1}}},
		{[]string{end}, "", []string{"nest 2 200", "end 7"}, 3, 5, [2]attach.PairStats{{Pairs: 2, Unstarted: 1}, {Pairs: 2, Unstarted: 1}}},
		{nil, "", []string{"nest 3 200", "start 7"}, 0, 7, [2]attach.PairStats{{Pairs: 3, Pending: 1}, {Pairs: 3, Pending: 1}}},
		{[]string{"pairing:*"}, "code >= 500", []string{"nest 3 500"}, 1, 1, [2]attach.PairStats{{Pairs: 1, Dropped: 2}, {Pairs: 1, Dropped: 2}}},
		{[]string{"pairing:*"}, `path == "/2"`, []string{"nest 3 500"}, 1, 1, [2]attach.PairStats{{Pairs: 1, Dropped: 2}, {Pairs: 1, Dropped: 2}}},
		{[]string{"pairing:*"}, "id == 2", []string{"nest 3 500"}, 2, 2, [2]attach.PairStats{{Pairs: 1, Dropped: 2}, {Pairs: 1, Dropped: 2}}},
	} {
		s := openSpans(t, test.selectors, &attach.SpanOptions{Spans: []attach.Span{carried, keyed}}, by(t, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Where: test.where}))
		if n := len(s.Plan()); n != 2 || s.Plan().Attached() != 2 {
			t.Errorf("%v: attached %d of %d sites, want 2", test, s.Plan().Attached(), n)
		}
		for _, command := range test.commands {
			p.Do("%s", command)
		}
		s.Stop()
		var events, pairs uint64
		for one, err := range s.All() {
			if err != nil {
				t.Error(err)
			}
			if !one.Only {
				events++
			}
			for _, pair := range one.Pairs {
				pairs++
				if pair.Took != one.Event.Time.Sub(pair.Start.Time) || pair.Start.Name != "start" || one.Event.Name != "end" {
					t.Errorf("a pair of %v and %v took %v", pair.Start, one.Event, pair.Took)
				}
				if pair.Span == 1 && pair.Start.Args[0].Value != one.Event.Args[0].Value {
					t.Errorf("by id, a pair of %v and %v", pair.Start.Args, one.Event.Args)
				}
			}
		}
		got := [2]attach.PairStats{s.Counts(0), s.Counts(1)}
		if d := cmp.Diff(test.want, got); d != "" || events != test.events || pairs != got[0].Pairs+got[1].Pairs {
			t.Errorf("%v: %d events, %d pairs (-want +got):\n%s", test, events, pairs, d)
		}
		if st := checkSum(t, s); st.Received != test.received || st.Lost != 0 {
			t.Errorf("%v: %+v, want %d received", test, st, test.received)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestSpansLost has a reader that is too slow: what was lost is counted, and said when; no
// pair is made of a start and an end that do not belong together, live and in a recording.
func TestSpansLost(t *testing.T) { sharedToo(t, checkSpansLost) }

func checkSpansLost(t *testing.T) {
	p := startChild(t, "pairsmodel")
	p.Do("load")
	defer p.Do("stop")
	const start, end = "pairsmodel*:start*", "pairsmodel*:end*"
	o := by(t, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
	spans := []attach.Span{{Start: start, End: end}}
	pairs := 0
	check := func(what string, s, e *event.Event) {
		if pairs++; s.Args[0].Value != e.Args[0].Value {
			t.Errorf("%s: a pair of start %v and end %v", what, s.Args[0].Value, e.Args[0].Value)
		}
	}
	checkLosses := func(what string, losses []attach.Loss, lost uint64) {
		var n uint64
		for i, l := range losses {
			n += l.N
			if l.To.Before(l.From) || i > 0 && l.To.Before(losses[i-1].To) {
				t.Errorf("%s: a loss from %v to %v", what, l.From, l.To)
			}
		}
		if n != lost || lost == 0 {
			t.Errorf("%s: losses of %d events, and %d were lost", what, n, lost)
		}
	}
	began := time.Now()
	s := openSpans(t, nil, &attach.SpanOptions{Spans: spans, RingSize: 16 << 10}, o)
	for len(s.Losses()) == 0 && time.Since(began) < time.Minute {
		time.Sleep(time.Millisecond)
	}
	time.AfterFunc(200*time.Millisecond, func() { s.Stop() })
	n := 0
	for one, err := range s.All() {
		if err != nil {
			t.Error(err)
		}
		if n++; n%300 == 0 {
			time.Sleep(5 * time.Millisecond)
		}
		for i := range one.Pairs {
			check("live", &one.Pairs[i].Start, &one.Event)
		}
	}
	st := checkSum(t, s)
	checkLosses("live", s.Losses(), st.Lost)
	if all := s.Losses(); len(all) == 0 {
		t.Error("no losses")
	} else if first := all[0]; first.From.Before(began) || first.To.After(time.Now()) {
		t.Errorf("the first loss from %v to %v, of a session from %v to %v", first.From, first.To, began, time.Now())
	}
	if c := s.Counts(0); c.Torn == 0 || pairs == 0 || c.Pairs != uint64(pairs) {
		t.Errorf("%d pairs, %+v", pairs, c)
	}
	s.Close()

	if wayOf(t) == shared {
		return // a recorder is fast enough
	}
	path := filepath.Join(t.TempDir(), "recording")
	for tries := 0; ; tries++ { // until something is lost
		recordFor(t, path, []string{start, end}, &attach.RecordOptions{RingSize: 4 << 10}, o, 100*time.Millisecond)
		recordings := &attach.Options{Target: attach.Target{Recordings: []string{path}}}
		replayed, err := attach.OpenPairs(t.Context(), start, end, nil, recordings)
		if err != nil {
			t.Fatal(err)
		}
		defer replayed.Close()
		for pair, err := range replayed.All() {
			if err != nil {
				t.Error(err)
			}
			check("recorded", &pair.Start, &pair.End)
		}
		if st := checkSum(t, replayed); st.Lost > 0 || tries == 10 {
			checkLosses("recorded", replayed.Losses(), st.Lost)
			return
		}
	}
}
