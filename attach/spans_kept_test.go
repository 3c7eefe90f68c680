package attach_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
)

// TestSpansKept compares what a session delivers with the recording of what it keeps, with spans
// and without.
func TestSpansKept(t *testing.T) { sharedToo(t, checkSpansKept) }

func checkSpansKept(t *testing.T) {
	p := startChild(t, "pairing")
	p.Do("load")
	text := func(ev *event.Event) string { return fmt.Sprint(ev.Time.UnixMicro(), ev.Name, ev.Args) }
	for _, spans := range [][]attach.Span{nil, {{Start: "pairing:start", End: "pairing:end"}}} {
		opts := by(t, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Where: "id != 2"})
		s := openSpans(t, []string{"pairing:*"}, &attach.SpanOptions{Spans: spans, Keep: 1 << 20}, opts)
		p.Do("nest 5 500")
		s.Stop()
		var want, got []string
		for one, err := range s.All() {
			if err != nil {
				t.Error(err)
			}
			want = append(want, text(&one.Event))
		}
		path := filepath.Join(t.TempDir(), "kept.usdt")
		file, err := os.Create(path)
		if err == nil {
			err = errors.Join(s.WriteKept(file), file.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
		// The file also has what this process has not shown, as pairs may need it.
		kept, err := attach.OpenEvents(t.Context(), []string{"pairing:*"}, nil, &attach.Options{Target: attach.Target{Recordings: []string{path}}, Where: "id != 2"})
		if err != nil {
			t.Fatal(err)
		}
		for ev, err := range kept.Events() {
			if err != nil {
				t.Error(err)
			}
			got = append(got, text(&ev))
		}
		kept.Close()
		if d := cmp.Diff(want, got); d != "" || len(got) != 8 {
			t.Errorf("%d spans: the recording has %d events of 8 (-want +got):\n%s", len(spans), len(got), d)
		}
		wrong := (*attach.OptionError)(nil)
		sampled, err := attach.OpenSpans(t.Context(), []string{"pairing:*"}, &attach.SpanOptions{Spans: spans, Sample: 2}, opts)
		if errors.As(err, &wrong) != (len(spans) > 0) {
			t.Errorf("%d spans of one event in two: %v", len(spans), err)
		} else if err == nil {
			sampled.Close()
		}
	}
	if err := openSpans(t, []string{"pairing:*"}, nil, by(t, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})).WriteKept(io.Discard); err == nil {
		t.Error("what is not kept is written")
	}
}
