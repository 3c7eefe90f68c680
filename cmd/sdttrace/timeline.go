package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/perfetto"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/selector"
)

// timelineFlags are the flags that write events as a timeline.
type timelineFlags struct {
	path            string
	spans           []string
	flows, counters []string
}

func (f *timelineFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.path, "perfetto", "", "instead of printing events, write a timeline to this file, - for stdout, for ui.perfetto.dev")
	flags.StringArrayVar(&f.spans, "span", nil, "with --perfetto and --html: show pairs of probes as slices and latencies, START,END or, of the same argument, START,END:KEY; may be repeated")
	flags.StringSliceVar(&f.flows, "flow", nil, "with --perfetto: draw arrows between events in which this argument is the same, e.g. request")
	flags.StringSliceVar(&f.counters, "counter", nil, "with --perfetto: draw this argument, a number, as a counter")
}

func (f *timelineFlags) wanted() bool { return f.path != "" }

// span is a pair of probes that is shown as slices.
type span struct {
	text       string
	start, end string
	key        []string
}

// parseSpan parses START,END[:KEY[,KEY...]]. END has a key if it has more parts than its
// kind: KEY is no part of a probe's path, unless that has no '/'.
func parseSpan(text string) (s span, err error) {
	parts := splitProbes(text)
	if len(parts) < 2 || parts[0] == "" || parts[1] == "" {
		return s, fmt.Errorf("--span %s: want two probes, START,END, and a key behind them if need be, START,END:KEY", text)
	}
	s = span{text: text, start: parts[0], end: parts[1]}
	if at := keyIn(s.end, s.start); at >= 0 {
		s.end, s.key = s.end[:at], append([]string{s.end[at+1:]}, parts[2:]...)
	} else if len(parts) > 2 {
		return s, fmt.Errorf("--span %s: %s is one probe too many; a key stands behind the second one: START,END:KEY", text, parts[2])
	}
	for _, probe := range []string{s.start, s.end} {
		if _, err := selector.Parse(probe); err != nil {
			return s, fmt.Errorf("--span %s: %w", text, err)
		}
	}
	for _, k := range s.key {
		if k == "" {
			return s, fmt.Errorf("--span %s: the key is empty", text)
		}
	}
	return s, nil
}

// keyIn returns where the colon in front of a key is in the second probe of a span; -1 if
// it has none.
func keyIn(end, start string) int {
	first, rest, _ := strings.Cut(end, ":")
	last := strings.LastIndexByte(end, ':')
	if first == "uprobe" || first == "uretprobe" {
		function := len(first) + 1 + strings.IndexByte(rest, ':') // the colon in front of it
		if function <= len(first) || last <= function || end[last-1] == ':' {
			return -1 // "::" is C++'s
		}
		return last
	}
	probe := 2 // parts
	if strings.Contains(first, "/") || strings.Count(start, ":") == 2 && !strings.HasPrefix(start, "u") {
		probe = 3
	}
	if strings.Count(end, ":") < probe {
		return -1
	}
	return last
}

// check returns an error for flags that do not go together.
func (f *timelineFlags) check(page bool) error {
	if !f.wanted() && len(f.flows)+len(f.counters) > 0 || !f.wanted() && !page && len(f.spans) > 0 {
		return errors.New("--span, --flow and --counter are for --perfetto, --span for --html, too")
	}
	for _, text := range f.spans {
		if _, err := parseSpan(text); err != nil {
			return err
		}
	}
	return nil
}

// probes returns the probes that are traced: those of events, and those of spans.
func (f *timelineFlags) probes(events []string) []string {
	all := slices.Clone(events)
	for _, text := range f.spans {
		if s, err := parseSpan(text); err == nil {
			all = append(all, s.start, s.end)
		}
	}
	return all
}

// timeline is a session whose events, and whose pairs, are shown.
type timeline struct {
	watched
	spans []span

	events  *attach.Session // without spans
	spanned *attach.Spans   // of events and of spans
	pairs   *attach.Pairs   // of one span alone, which the kernel matches
}

// watched is a session whatever it delivers.
type watched interface {
	tracer
	searcher
	Idle() bool
	Losses() []attach.Loss
}

// openTimeline attaches to the probes of events and of spans.
func (f *traceFlags) openTimeline(ctx context.Context, probes []string, opts *attach.Options) (t *timeline, err error) {
	t = &timeline{}
	var spans []attach.Span
	for _, text := range f.timeline.spans {
		s, err := parseSpan(text)
		if err != nil {
			return nil, err
		}
		t.spans, spans = append(t.spans, s), append(spans, attach.Span{Start: s.start, End: s.end, Key: s.key})
	}
	switch {
	case len(spans) == 0:
		t.events, err = attach.Open(ctx, probes, opts)
		t.watched = t.events
	case len(spans) == 1 && len(probes) == 0:
		t.pairs, err = attach.OpenPairs(ctx, spans[0].Start, spans[0].End, &attach.PairOptions{Key: spans[0].Key}, opts)
		if t.watched = t.pairs; err != nil {
			err = fmt.Errorf("--span %s: %w", f.timeline.spans[0], err)
		}
	default:
		t.spanned, err = attach.OpenSpans(ctx, probes, spans, opts)
		t.watched = t.spanned
	}
	return t, err
}

// delivered is what a session delivers at a time.
type delivered struct {
	event *event.Event // nil if only its pairs are shown
	end   *event.Event // of the pairs
	pairs []attach.SpanPair
}

// each yields what the session delivers until nothing follows. An error without an event, or
// without a pair, is the last.
func (t *timeline) each(yield func(one *delivered, err error) bool) {
	switch {
	case t.events != nil:
		for ev, err := range t.events.Events() {
			if !yield(&delivered{event: &ev}, err) || err != nil && ev.Probe == nil {
				return
			}
		}
	case t.pairs != nil:
		for p, err := range t.pairs.All() {
			one := &delivered{end: &p.End, pairs: []attach.SpanPair{{Start: p.Start, Took: p.Took}}}
			if !yield(one, err) || err != nil && (p.Start.Probe == nil || p.End.Probe == nil) {
				return
			}
		}
	default:
		for s, err := range t.spanned.All() {
			one := &delivered{event: &s.Event, end: &s.Event, pairs: s.Pairs}
			if s.Only {
				one.event = nil
			}
			if !yield(one, err) || err != nil && s.Event.Probe == nil {
				return
			}
		}
	}
}

// counts returns what became of the starts and ends of a span.
func (t *timeline) counts(span int) (attach.PairStats, error) {
	if t.pairs != nil {
		return t.pairs.Counts()
	}
	return t.spanned.Counts(span), nil
}

// printTimeline writes events and slices until there are enough or no more.
func (f *traceFlags) printTimeline(t *timeline, cancel context.CancelFunc, stdout, stderr io.Writer) (err error) {
	out, err := f.outputs.create(f.timeline.path, stdout)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, out.Close()) }()
	o := &perfetto.Options{Flows: f.timeline.flows, Counters: f.timeline.counters, Recorded: f.replayed != nil}
	if f.replayed == nil {
		o.Names = nameOfProcess
	}
	w := &timelineWriter{w: perfetto.New(out, o), limit: f.limit, cancel: cancel}
	w.writeAll(t)
	for _, l := range t.Losses() {
		w.w.Loss(l.From, l.To, l.N)
	}
	if flows, counters := w.w.Missing(); !f.quiet {
		for _, path := range flows {
			fmt.Fprintf(stderr, "sdttrace: --flow %s drew nothing: no event had this argument\n", path)
		}
		for _, path := range counters {
			fmt.Fprintf(stderr, "sdttrace: --counter %s drew nothing: no event had this argument, as a number\n", path)
		}
	}
	return errors.Join(w.failed, outputError(w.w.Flush()))
}

// timelineWriter writes what a session delivers.
type timelineWriter struct {
	w      *perfetto.Writer
	failed error // the first one
	n      uint64
	limit  uint64
	cancel context.CancelFunc
}

// writeAll writes until there is enough or no more. What is buffered is written if nothing
// follows now.
func (w *timelineWriter) writeAll(t *timeline) {
	flushes := t.pairs != nil && t.Via() != attach.ViaKernel
	t.each(func(one *delivered, err error) bool {
		w.failed = cmp.Or(w.failed, err)
		if one.event != nil && one.event.Probe != nil && w.another() {
			w.w.Event(one.event)
		}
		for i := range one.pairs {
			if p := &one.pairs[i]; p.Start.Probe != nil && one.end.Probe != nil && w.another() {
				w.w.Slice(&p.Start, one.end, len(t.spans[p.Span].key) > 0)
			}
		}
		idle := flushes || t.Idle()
		if w.limit > 0 && w.n == w.limit || idle && w.w.Flush() != nil || w.w.Err() != nil {
			w.cancel()
			return false
		}
		return true
	})
}

// another counts what is to be written, unless there is enough.
func (w *timelineWriter) another() bool {
	if w.limit > 0 && w.n == w.limit {
		return false
	}
	w.n++
	return true
}

// nameOfProcess returns the name of a process's first thread, "" if it has ended.
func nameOfProcess(pid int) string {
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(name), "\n")
}

// printSpans reports what became of starts and ends.
func (t *timeline) printSpans(stderr io.Writer) error {
	for i := range t.spans {
		c, err := t.counts(i)
		if err != nil {
			return err
		}
		if err := printUnpaired(stderr, fmt.Sprintf("%s: %d pairs", t.spans[i].text, c.Pairs), &c); err != nil {
			return err
		}
	}
	return nil
}
