package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/command"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/selector"
)

// spanning is a deed that shows events, and how long pairs of probes take.
type spanning struct {
	defaults
	*traceFlags
	texts repeated // START,END[:KEY]
}

func (d *spanning) words(set wordSet) {
	set.add("span", &d.texts)
	d.target(set)
	d.single(set)
	d.arguments(set)
}

func (d *spanning) check([]string) error {
	if len(d.texts) > 0 && d.sample > 1 {
		return errors.New("--sample is for single events: it would tear the pairs of --span apart")
	}
	for _, text := range d.texts {
		if _, err := parseSpan(text); err != nil {
			return err
		}
	}
	return nil
}

func (d *spanning) traces(events []string) []string { return probesOf(d.texts, events) }

// probesOf returns the probes of events, and those of spans.
func probesOf(spans, events []string) []string {
	all := slices.Clone(events)
	for _, text := range spans {
		if s, err := parseSpan(text); err == nil {
			all = append(all, s.start, s.end)
		}
	}
	return all
}

func (d *spanning) writes() bool { return true }

func (d *spanning) conclude(s tracer, stderr io.Writer) error {
	return s.(*timeline).printSpans(stderr)
}

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
	command.Searcher
	Idle() bool
	Losses() []attach.Loss
}

// watch attaches to the probes of events and of spans.
func (d *spanning) watch(ctx context.Context, probes []string, opts *attach.Options) (t *timeline, err error) {
	t = &timeline{}
	var spans []attach.Span
	for _, text := range d.texts {
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
			err = fmt.Errorf("--span %s: %w", d.texts[0], err)
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
