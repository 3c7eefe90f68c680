package topsource

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/cgroup"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/format"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/session"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/printable"
	"github.com/go-usdt/usdt/internal/top"
	"github.com/go-usdt/usdt/total"
)

// options returns the options of a session for one probe, beside the one that counts.
func (s *Source) options(pid int) (*attach.Options, error) {
	opts, err := s.Options()
	if err != nil {
		return nil, err
	}
	opts.Target.Via = s.Aggregate.Via()
	if pid != 0 {
		opts.Target = attach.Target{PIDs: []int{pid}, Via: opts.Target.Via}
	}
	opts.Await = opts.Rescan > 0
	return opts, nil
}

// Events traces a probe.
func (s *Source) Events(ctx context.Context, probe string, pid, sample int) (top.Tracing, error) {
	opts, err := s.options(pid)
	if err != nil {
		return nil, err
	}
	what := &attach.EventOptions{Sample: sample, MaxString: 256, RingSize: 1 << 20}
	t, m := &events{}, &format.Meanings{Table: s.Prototypes}
	if err := s.follow(ctx, &t.tracing, probe, what, opts, func(ev *event.Event) { t.add(m, ev) }); err != nil {
		return nil, err
	}
	return t, nil
}

// events are the last events of a probe.
type events struct {
	tracing

	lines []string
}

// maxEvents is how many events are kept: more than a screen has lines.
const maxEvents = 512

func (t *events) add(m *format.Meanings, ev *event.Event) {
	m.Event(ev, true)
	line := string(format.AppendText(nil, ev))
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lines = append(t.lines, line); len(t.lines) > 2*maxEvents {
		t.lines = append(t.lines[:0:0], t.lines[maxEvents:]...)
	}
}

// Lines returns the last events.
func (t *events) Lines(n int) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if lines := t.instead(len(t.lines) == 0); lines != nil {
		return lines
	}
	return append([]string(nil), t.lines[max(0, len(t.lines)-n):]...)
}

// Histogram adds up the values of an argument.
func (s *Source) Histogram(ctx context.Context, probe, argument string, pid int) (top.Tracing, error) {
	opts, err := s.options(pid)
	if err != nil {
		return nil, err
	}
	what := attach.Hist(argument)
	if s.Group != nil {
		what = what.By("probe", "pid")
	}
	a, err := attach.OpenAggregate(ctx, s.selectorsOf(probe), what, opts)
	if err != nil {
		return nil, err
	}
	h := &histogram{from: a}
	if param := (&format.Meanings{Table: s.Prototypes}).Param(argument, a.Plan()); param != nil {
		h.unit = format.Unit(param.Unit)
	}
	if s.Group != nil {
		h.from = &cgroup.Aggregate{Aggregate: a, Group: s.Group.Again()}
	}
	return h, nil
}

// histogram is a histogram of what has fired since it was opened.
type histogram struct {
	from session.Aggregate
	unit format.Unit

	mu    sync.Mutex // of what follows
	total total.Group
}

// Lines reads the histogram.
func (h *histogram) Lines(n int) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	groups, err := h.from.Read()
	if err != nil {
		return []string{err.Error()}
	}
	for i := range groups {
		h.total.Count += groups[i].Count
		h.total.Meaning = groups[i].Meaning
		h.total.Hist = format.AddBuckets(h.total.Hist, groups[i].Hist)
	}
	if h.total.Count == 0 {
		return []string{"no event yet"}
	}
	text := fmt.Sprintf("%s events\n%s", format.AppendCount(nil, h.total.Count), format.AppendHist(nil, &h.total, h.unit, false, 0))
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) > n {
		lines = append(lines[:n-1], "  … and "+printable.Many(len(lines)-n+1, "bucket", "buckets")+" more")
	}
	return lines
}

// Close detaches.
func (h *histogram) Close() error { return h.from.Close() }
