package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/format"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/top"
	"github.com/go-usdt/usdt/total"
)

// options returns those of a session for one probe beside the one that counts.
func (s *topSource) options(pid int) (*attach.Options, error) {
	opts, err := s.f.options(0)
	if err != nil {
		return nil, err
	}
	opts.Target.Via = s.aggregate.Via()
	if len(s.f.command) > 0 {
		opts.Target.PIDs = []int{s.f.held.PID()}
	}
	if pid != 0 {
		opts.Target = attach.Target{PIDs: []int{pid}, Via: opts.Target.Via}
	}
	opts.Await = opts.Rescan > 0
	return opts, nil
}

// Events traces a probe.
func (s *topSource) Events(ctx context.Context, probe string, pid, sample int) (top.Tracing, error) {
	opts, err := s.options(pid)
	if err != nil {
		return nil, err
	}
	opts.Sample, opts.MaxString, opts.RingSize = sample, 256, 1<<20
	t, m := &topEvents{}, &format.Meanings{Table: s.f.meanings.Table}
	if err := s.follow(ctx, &t.topSession, probe, opts, func(ev *event.Event) { t.add(m, ev) }); err != nil {
		return nil, err
	}
	return t, nil
}

// topEvents are the last events of a probe.
type topEvents struct {
	topSession

	lines []string
}

// maxTopEvents is how many events are kept: more than a screen has lines.
const maxTopEvents = 512

func (t *topEvents) add(m *format.Meanings, ev *event.Event) {
	m.Event(ev)
	line := string(format.AppendText(nil, ev))
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lines = append(t.lines, line); len(t.lines) > 2*maxTopEvents {
		t.lines = append(t.lines[:0:0], t.lines[maxTopEvents:]...)
	}
}

// Lines returns the last events.
func (t *topEvents) Lines(n int) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if lines := t.instead(len(t.lines) == 0); lines != nil {
		return lines
	}
	return append([]string(nil), t.lines[max(0, len(t.lines)-n):]...)
}

// Histogram adds up the values of an argument.
func (s *topSource) Histogram(ctx context.Context, probe, argument string, pid int) (top.Tracing, error) {
	opts, err := s.options(pid)
	if err != nil {
		return nil, err
	}
	what := attach.Hist(argument)
	if s.group != nil {
		what = what.By("probe", "pid")
	}
	a, err := attach.OpenAggregate(ctx, s.selectorsOf(probe), what, opts)
	if err != nil {
		return nil, err
	}
	h := &topHistogram{from: a}
	if param := (&format.Meanings{Table: s.f.meanings.Table}).Param(argument, a.Plan()); param != nil {
		h.unit = format.Unit(param.Unit)
	}
	if s.group != nil {
		h.from = &inCgroup{a, s.group.again()}
	}
	return h, nil
}

// topHistogram is a histogram of what has fired since it was opened.
type topHistogram struct {
	from aggregate
	unit format.Unit

	mu    sync.Mutex // of what follows
	total total.Group
}

// Lines reads the histogram.
func (h *topHistogram) Lines(n int) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	groups, err := h.from.Read()
	if err != nil {
		return []string{err.Error()}
	}
	for i := range groups {
		h.total.Count += groups[i].Count
		h.total.Meaning = groups[i].Meaning
		h.total.Hist = addBuckets(h.total.Hist, groups[i].Hist)
	}
	if h.total.Count == 0 {
		return []string{"no event yet"}
	}
	text := string(format.AppendGroup(nil, &format.Group{Group: &h.total, At: time.Now(), Unit: h.unit}))
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) > n {
		lines = append(lines[:n-1], fmt.Sprintf("  … and %d buckets more", len(lines)-n+1))
	}
	return lines
}

// Close detaches.
func (h *topHistogram) Close() error { return h.from.Close() }

// addBuckets returns the sum of two histograms of equal bounds. Each has all buckets
// from its first to its last.
func addBuckets(a, b []total.Bucket) []total.Bucket {
	out := make([]total.Bucket, 0, len(a)+len(b))
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].Lo < b[0].Lo:
			out, a = append(out, a[0]), a[1:]
		case len(a) == 0 || b[0].Lo < a[0].Lo:
			out, b = append(out, b[0]), b[1:]
		default:
			sum := a[0]
			sum.N += b[0].N
			out, a, b = append(out, sum), a[1:], b[1:]
		}
	}
	return out
}
