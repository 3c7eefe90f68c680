package attach_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/total"
)

// TestRecordingsIntervals compares the groups of each interval with the events that fired
// in it.
func TestRecordingsIntervals(t *testing.T) {
	dir := recorder(t)
	var files []string
	for range 2 {
		p := startChild(t, "aggregate")
		p.Do("load")
		p.Do("fire 1")
		p.Do("fire 1")
		p.Kill()
		files = append(files, recordingOf(t, dir, p))
	}
	// Both are recorded within a second: most intervals of 100 µs have a few events.
	const interval = 100 * time.Microsecond
	want := map[time.Time]uint64{}
	var last time.Time
	events, _ := replay(t, "agg:*", attach.Options{}, files...)
	for _, ev := range events {
		want[ev.Time.Truncate(interval).Add(interval)]++
		last = ev.Time
	}
	if len(want) < 3 {
		t.Fatalf("%d events in %d intervals", len(events), len(want))
	}
	read := func(d time.Duration) []total.Group {
		a, err := attach.OpenAggregate(t.Context(), []string{"agg:*"}, attach.Count().Interval(d), &attach.Options{Target: attach.Target{Recordings: files}})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		<-a.Done()
		groups, err := a.Read()
		if err != nil {
			t.Fatal(err)
		}
		if st, err := a.Stats(); err != nil || st.Received != uint64(len(events)) {
			t.Errorf("%+v, %v, want %d received", st, err, len(events))
		}
		return groups
	}
	got := map[time.Time]uint64{}
	var before time.Time
	for _, g := range read(interval) {
		if !g.At.After(before) {
			t.Errorf("the interval to %v follows that to %v", g.At, before)
		}
		if !g.From.Equal(g.At.Add(-interval)) {
			t.Errorf("the interval to %v begins at %v", g.At, g.From)
		}
		before = g.At
		got[g.At] += g.Count
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("events by interval (-events +groups):\n%s", d)
	}
	if all := read(0); len(all) != 1 || all[0].Count != uint64(len(events)) || !all[0].From.Equal(events[0].Time) || !all[0].At.Equal(last) {
		t.Errorf("without intervals %+v, want %d from %v to %v", all, len(events), events[0].Time, last)
	}
	_, err := attach.OpenAggregate(t.Context(), []string{"agg:*"}, attach.Count().Interval(time.Second), nil)
	if option := (*attach.OptionError)(nil); !errors.As(err, &option) || option.Option != "Interval" {
		t.Errorf("live, by intervals: %v", err)
	}
}
