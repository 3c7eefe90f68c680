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
	"sync"
	"sync/atomic"

	"github.com/spf13/pflag"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/perfetto"
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

// timeline is sessions whose events are written to one trace.
type timeline struct {
	sessions
	events *attach.Session // nil if only spans are traced
	spans  []span
	pairs  []*attach.Pairs // of each span
}

// openTimeline attaches to the probes of events and of spans.
func (f *traceFlags) openTimeline(ctx context.Context, probes []string, opts *attach.Options) (_ *timeline, err error) {
	opened := &timeline{}
	defer func() {
		if err != nil {
			opened.Close()
		}
	}()
	if len(probes) > 0 {
		if opened.events, err = attach.Open(ctx, probes, opts); err != nil {
			return nil, err
		}
		opened.sessions.add(opened.events)
	}
	for _, text := range f.timeline.spans {
		s, err := parseSpan(text)
		if err != nil {
			return nil, err
		}
		p, err := attach.OpenPairs(ctx, s.start, s.end, &attach.PairOptions{Key: s.key}, opts)
		if err != nil {
			return nil, fmt.Errorf("--span %s: %w", text, err)
		}
		opened.spans, opened.pairs = append(opened.spans, s), append(opened.pairs, p)
		opened.sessions.add(p)
	}
	return opened, nil
}

// read reads all sessions at once, until nothing follows: that of events, if there is one,
// and that of each span.
func (t *timeline) read(events func(*attach.Session), pairs func(span int, p *attach.Pairs)) {
	var wait sync.WaitGroup
	if t.events != nil {
		wait.Go(func() { events(t.events) })
	}
	for i, p := range t.pairs {
		wait.Go(func() { pairs(i, p) })
	}
	wait.Wait()
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
	t.read(w.writeEvents, func(i int, p *attach.Pairs) { w.writePairs(p, len(t.spans[i].key) > 0) })
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

// timelineWriter is what several sessions write to.
type timelineWriter struct {
	mu     sync.Mutex
	w      *perfetto.Writer
	failed error // the first one
	n      uint64
	limit  uint64
	ended  atomic.Bool
	cancel context.CancelFunc
}

// fail keeps the first error.
func (w *timelineWriter) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failed = cmp.Or(w.failed, err)
}

// write writes something, and what is buffered if nothing follows now. It reports whether
// there may be more.
func (w *timelineWriter) write(add func(*perfetto.Writer), flush bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended.Load() {
		return false
	}
	add(w.w)
	w.n++
	if w.n == w.limit || flush && w.w.Flush() != nil || w.w.Err() != nil {
		w.ended.Store(true)
		w.cancel()
	}
	return !w.ended.Load()
}

func (w *timelineWriter) writeEvents(s *attach.Session) {
	for ev, err := range s.Events() {
		if err != nil {
			w.fail(err)
		}
		if err != nil && ev.Probe == nil || !w.write(func(w *perfetto.Writer) { w.Event(&ev) }, s.Idle()) {
			return
		}
	}
}

func (w *timelineWriter) writePairs(p *attach.Pairs, keyed bool) {
	for pair, err := range p.All() {
		if err != nil {
			w.fail(err)
		}
		if err != nil && (pair.Start.Probe == nil || pair.End.Probe == nil) {
			return
		}
		if !w.write(func(w *perfetto.Writer) { w.Slice(&pair.Start, &pair.End, keyed) }, p.Via() != attach.ViaKernel || p.Idle()) {
			return
		}
	}
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
	for i, p := range t.pairs {
		c, err := p.Counts()
		if err != nil {
			return err
		}
		if err := printUnpaired(stderr, fmt.Sprintf("%s: %d pairs", t.spans[i].text, c.Pairs), &c); err != nil {
			return err
		}
	}
	return nil
}
