package session

import (
	"context"
	"fmt"
	"io"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
)

// Timeline is a session whose events, and whose pairs, are shown.
type Timeline struct {
	watched
	Spans []Span

	events  *attach.Session // without spans
	spanned *attach.Spans   // of events and of spans
	pairs   *attach.Pairs   // of one span alone, which the kernel matches
	matched bool            // there is nothing but one span
}

// watched is a session whatever it delivers.
type watched interface {
	Session
	Idle() bool
	Losses() []attach.Loss
}

// Watch attaches to the probes of events and of spans, see [ParseSpan]. The newest events
// stay in memory for WriteKept, in so many bytes; 0 for none. what and opts may be nil.
func Watch(ctx context.Context, probes, texts []string, what *attach.EventOptions, opts *attach.Options, keep int) (t *Timeline, err error) {
	if what == nil {
		what = &attach.EventOptions{}
	}
	t = &Timeline{}
	var spans []attach.Span
	for _, text := range texts {
		s, err := ParseSpan(text)
		if err != nil {
			return nil, err
		}
		flat, where := Known(s.Start, s.End, opts)
		t.Spans, spans = append(t.Spans, s), append(spans, attach.Span{Start: s.Start, End: s.End, Key: s.Key, Flat: flat, Where: where})
	}
	t.matched = len(spans) == 1 && len(probes) == 0
	switch {
	case len(spans) == 0 && keep == 0:
		t.events, err = attach.OpenEvents(ctx, probes, what, opts)
		t.watched = t.events
	case t.matched && keep == 0 && what.Sample <= 1:
		t.pairs, err = attach.OpenPairs(ctx, spans[0].Start, spans[0].End, &attach.PairOptions{Key: spans[0].Key, Flat: spans[0].Flat, RingSize: what.RingSize, MaxString: what.MaxString}, opts.Restricted(spans[0].Where))
		if t.watched = t.pairs; err != nil {
			err = fmt.Errorf("--span %s: %w", texts[0], err)
		}
	default:
		t.spanned, err = attach.OpenSpans(ctx, probes, &attach.SpanOptions{Spans: spans, RingSize: what.RingSize, MaxString: what.MaxString, Sample: what.Sample, Keep: keep}, opts)
		t.watched = t.spanned
	}
	return t, err
}

// Delivered is what a session delivers at a time.
type Delivered struct {
	Event *event.Event // nil if only its pairs are shown
	End   *event.Event // of the pairs
	Pairs []attach.SpanPair
}

// Each yields what the session delivers until nothing follows. An error without an event, or
// without a pair, is the last.
func (t *Timeline) Each(yield func(one *Delivered, err error) bool) {
	switch {
	case t.events != nil:
		for ev, err := range t.events.Events() {
			if !yield(&Delivered{Event: &ev}, err) || err != nil && ev.Probe == nil {
				return
			}
		}
	case t.pairs != nil:
		for p, err := range t.pairs.All() {
			one := &Delivered{End: &p.End, Pairs: []attach.SpanPair{{Start: p.Start, Took: p.Took}}}
			if !yield(one, err) || err != nil && (p.Start.Probe == nil || p.End.Probe == nil) {
				return
			}
		}
	default:
		for s, err := range t.spanned.All() {
			one := &Delivered{Event: &s.Event, End: &s.Event, Pairs: s.Pairs}
			if s.Only {
				one.Event = nil
			}
			if !yield(one, err) || err != nil && s.Event.Probe == nil {
				return
			}
		}
	}
}

// Counts returns what became of the starts and ends of a span.
func (t *Timeline) Counts(span int) (attach.PairStats, error) {
	if t.pairs != nil {
		return t.pairs.Counts()
	}
	return t.spanned.Counts(span), nil
}

// OfEvents returns what shows the events of a session.
func OfEvents(s *attach.Session) *Timeline { return &Timeline{watched: s, events: s} }

// WriteKept writes the newest events as a recording.
func (t *Timeline) WriteKept(w io.Writer) error { return t.spanned.WriteKept(w) }

// Matched reports whether only pairs are delivered, which the kernel may have matched: then events
// belong to pairs.
func (t *Timeline) Matched() bool { return t.matched }
