package attach

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-usdt/usdt/attach/internal/bind"
	"github.com/go-usdt/usdt/attach/internal/discover"
	"github.com/go-usdt/usdt/attach/internal/filter"
	"github.com/go-usdt/usdt/attach/internal/numbering"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/attach/internal/recorder"
	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/attach/internal/tally"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/decode"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/selector"
	"github.com/go-usdt/usdt/reader"
)

// Span names starts and ends whose pairs are delivered beside events.
type Span struct {
	Start, End string   // selectors
	Key        []string // matches as [LatencyOptions.Key] does
	Flat       bool     // as [LatencyOptions.Flat]
	Where      string   // a condition on its pairs beside Options.Where
}

// SpanOptions name the pairs that [OpenSpans] delivers.
type SpanOptions struct {
	Spans []Span

	RingSize, MaxString int // see [EventOptions]
	Sample              int // likewise; it would tear pairs apart, and is for events alone

	// Keep is how many bytes of the newest records stay in memory for [Spans.WriteKept]; 0 for none.
	Keep int
}

// Spanned is an event, and the pairs whose end it is.
type Spanned struct {
	Event event.Event
	Only  bool // no selector of events names the probe: it only starts and ends spans
	Pairs []SpanPair
}

// SpanPair is a pair of a span. Its end is the event that it stands beside.
type SpanPair struct {
	Span  int // which of SpanOptions.Spans, from 0
	Start event.Event
	Took  time.Duration
}

// Spans is a set of probes whose events are recorded, and of pairs among them.
type Spans struct {
	stream
	spanSites
	filtered atomic.Uint64    // of what was recorded, that does not pass Options.Where
	given    []string         // selectors
	newest   *recorder.Newest // nil unless records are kept
}

// spanSites are what sites have to do with spans.
type spanSites struct {
	spans   []*spanMatch
	table   *numbering.Table // that matches are of
	matches []spanSite       // by the numbers of sites
}

// spanMatch matches the starts and ends of a span.
type spanMatch struct {
	Span
	layout  *bind.Layout
	where   *filter.Expr // of Options and the span; nil for none
	tally   *tally.Tally
	matched bool // a start and an end are known
}

// spanSite says what records of a site are matched by.
type spanSite struct {
	schema *bind.Schema
	probe  *reader.Probe
	event  bool               // it is shown by itself
	spans  []*query.Signature // by span; nil where the site is neither start nor end
	errs   []error            // by span: why not
}

// OpenSpans attaches to what selectors name, as [Open] does, and to the starts and ends of
// spans, each site once: every event is recorded once, and pairs are made of events here.
// If an event was lost between a start and an end, nobody knows whether the two belong
// together: such a pair is left out and counted, see [PairStats]. Many pairs under load are
// better counted by [OpenLatency] or delivered by [OpenPairs], which have the kernel match
// them.
//
// An event passes Options.Where as one of Open does, and a pair as one of OpenPairs. what and opts
// may be nil.
func OpenSpans(ctx context.Context, selectors []string, what *SpanOptions, opts *Options) (*Spans, error) {
	if err := usable(ctx); err != nil {
		return nil, err
	}
	if what == nil {
		what = &SpanOptions{}
	}
	if what.Sample > 1 && len(what.Spans) > 0 {
		return nil, &OptionError{"Sample", errors.New("it applies to single events, and would tear pairs apart")}
	}
	if what.Keep < 0 {
		return nil, &OptionError{"Keep", fmt.Errorf("%d bytes are negative", what.Keep)}
	}
	o, err := opts.used(&EventOptions{RingSize: what.RingSize, MaxString: what.MaxString, Sample: what.Sample})
	if err != nil {
		return nil, err
	}
	all := slices.Clone(selectors)
	for _, span := range what.Spans {
		all = append(all, span.Start, span.End)
	}
	return openBy(o, func(s *Spans, o *settings) error {
		s.given = all
		if what.Keep > 0 {
			s.newest = &recorder.Newest{Most: what.Keep}
		}
		return s.open(ctx, all, len(selectors), what.Spans, o)
	})
}

// open attaches to what all selectors name; the first n select events.
func (s *Spans) open(ctx context.Context, all []string, n int, spans []Span, o *settings) error {
	out := *o
	out.keep, out.spanned, out.events = true, true, n
	var err error
	if s.spans, err = spanMatches(spans, o); err != nil {
		return err
	}
	for _, m := range s.spans {
		key := m.layout.Pairs.Key
		if m.where != nil {
			out.recorded = true
			out.strings = append(slices.Clip(out.strings), bind.ConditionStrings(m.where)...)
		}
		out.keys = append(out.keys, key...)
		out.strings = append(slices.Clip(out.strings), bind.KeyStrings(key)...)
		if len(key) > 0 {
			out.MaxString = max(out.MaxString, query.KeyString)
		}
	}
	if o.Await && len(spans) > 0 {
		awaited := spanSites{} // All has its own, and reads meanwhile
		if awaited.spans, err = spanMatches(spans, o); err != nil {
			return err
		}
		s.fitsTogether = func(table *numbering.Table) error { return s.match(&awaited, table) }
	}
	if err := s.begin(ctx, all, &out, nil); err != nil {
		return err
	}
	if err := s.match(&s.spanSites, s.sites.Load()); err != nil {
		s.Close()
		return err
	}
	for _, m := range s.spans {
		m.tally = newTally(m.layout)
		m.tally.Torn = s.losses.Between
	}
	return nil
}

func spanMatches(spans []Span, o *settings) (all []*spanMatch, err error) {
	for _, span := range spans {
		m := &spanMatch{Span: span}
		if where := o.Restricted(span.Where).Where; where != "" {
			if m.where, err = parseWhere(where); err != nil {
				return nil, &OptionError{"Where", err}
			}
		}
		pairs, err := pairLayout(span.Start, span.End, span.Key, span.Flat, 0)
		if err != nil {
			return nil, err
		}
		pairs.Whole = true
		m.layout = &bind.Layout{Layout: query.Layout{Value: query.Elapsed}, Pairs: pairs}
		all = append(all, m)
	}
	return all, nil
}

// match finds out what the sites of a table have to do with spans. It is an error if a span has no
// starts or no ends, unless they may come, or if no site tests a part of the condition.
func (s *Spans) match(known *spanSites, table *numbering.Table) error {
	for i, m := range known.spans {
		m.layout.Pairs.Start, m.layout.Pairs.End = s.ends(i)
	}
	s.know(known, table)
	for i, m := range known.spans {
		if m.matched {
			continue
		}
		err := known.check(i)
		if err == nil && !m.matched && !s.options.Await {
			s.attached.LookAt(0, func(plan site.Plan) { err = m.layout.Half(plan) })
		}
		if err != nil {
			return fmt.Errorf("span %s,%s: %w", m.Start, m.End, err)
		}
	}
	return nil
}

// ends returns the selectors of a span.
func (s *Spans) ends(i int) (start, end selector.Selector) {
	n := s.options.events
	return s.selectors[n+2*i], s.selectors[n+2*i+1]
}

// check returns why there are no pairs of a span, as far as its sites show that.
func (s *spanSites) check(i int) error {
	m := s.spans[i]
	var found [query.RoleEnd + 1]bool
	var misfits [query.RoleEnd + 1]error
	for _, at := range s.matches {
		switch {
		case at.spans != nil && at.spans[i] != nil:
			found[at.spans[i].Aggregate.Role] = true
		case at.errs != nil && at.errs[i] != nil:
			role := query.RoleStart
			if !discover.Selects(&m.layout.Pairs.Start, at.probe) {
				role = query.RoleEnd
			}
			misfits[role] = at.errs[i]
		}
	}
	for _, role := range []query.Role{query.RoleStart, query.RoleEnd} {
		if !found[role] && misfits[role] != nil {
			return misfits[role]
		}
	}
	if !found[query.RoleStart] || !found[query.RoleEnd] {
		return nil
	}
	m.matched = true
	if err := m.layout.Fits(); err != nil {
		return whereError(err)
	}
	return m.layout.Pairs.Overlap()
}

// know finds out what sites have to do with spans, if they have not been known before. Starts
// come first, as they do where sites are bound.
func (s *Spans) know(known *spanSites, table *numbering.Table) {
	if table == known.table {
		return
	}
	known.table = table
	n := s.options.events
	known.matches = append(known.matches, make([]spanSite, max(0, len(table.Probes)-len(known.matches)))...)
	var news []int
	for i, p := range table.Probes {
		if at := &known.matches[i]; at.probe != p || at.schema != table.Schemas[i] {
			*at = spanSite{schema: table.Schemas[i], probe: p}
			if p != nil {
				at.event = selects(s.selectors[:n], p)
				news = append(news, i)
			}
		}
	}
	for k, m := range known.spans {
		for _, ends := range []bool{false, true} {
			for _, i := range news {
				at := &known.matches[i]
				if m.layout.Pairs.Names(at.probe) && discover.Selects(&m.layout.Pairs.Start, at.probe) != ends {
					at.match(k, m, len(known.spans))
				}
			}
		}
	}
}

// match finds out what the site has to do with span k of n.
func (at *spanSite) match(k int, m *spanMatch, n int) {
	if at.spans == nil {
		at.spans, at.errs = make([]*query.Signature, n), make([]error, n)
	}
	at.spans[k], at.errs[k] = m.layout.Matched(m.where, at.schema, at.probe)
}

// spanned returns what says which probes are starts and ends of spans; nil without spans.
func (t *tracing) spanned() func(*reader.Probe) bool {
	if !t.options.spanned {
		return nil
	}
	return func(p *reader.Probe) bool { return selects(t.selectors[t.options.events:], p) }
}

func selects(selectors []selector.Selector, p *reader.Probe) bool {
	return slices.ContainsFunc(selectors, func(s selector.Selector) bool { return discover.Selects(&s, p) })
}

// All yields the events as they fire. It ends when [Session.Events] would, and treats errors
// as that does. Only one of them should run at a time.
func (s *Spans) All() iter.Seq2[Spanned, error] {
	return func(yield func(Spanned, error) bool) {
		d := s.decoder()
		s.records(func(b []byte, _ bool, err error) bool {
			var out Spanned
			if err != nil {
				return yield(out, err)
			}
			unread := func() {
				s.received.Add(^uint64(0))
				s.unread.Add(1)
			}
			rec, err := record.Check(b)
			if err != nil {
				unread()
				return yield(out, err)
			}
			table := s.sites.Load()
			s.know(&s.spanSites, table)
			if s.newest != nil {
				s.newest.Add(rec, table)
			}
			number := rec.Site()
			if uint64(number) >= uint64(len(s.matches)) || s.matches[number].schema == nil {
				unread()
				return true
			}
			at := &s.matches[number]
			sc := at.schema
			out.Only = !at.event
			out.Pairs, err = s.pairs(d, at, rec)
			passes := sc.Computed == nil || s.filter.Passes(sc.Computed, rec)
			if !passes || out.Only && len(out.Pairs) == 0 {
				if !passes {
					s.filtered.Add(1)
				}
				if len(out.Pairs) == 0 {
					return err == nil || yield(out, err)
				}
				out.Only = true
			}
			var ownErr error
			out.Event, ownErr = d.Decode(s.shorten(rec))
			err = cmp.Or(ownErr, err)
			return yield(out, err) && (err == nil || out.Event.Probe != nil)
		})
	}
}

// pairs returns the pairs that a record completes.
func (s *Spans) pairs(d decode.Decoder, at *spanSite, rec record.Record) (pairs []SpanPair, failed error) {
	bare := rec
	if st := &at.schema.Layout.Stack; st.Copied > 0 { // too large to be kept
		if begins, err := st.Start(rec); err == nil {
			bare = rec[:begins]
		}
	}
	for k, sig := range at.spans {
		if sig == nil {
			continue
		}
		kept, elapsed, ok := s.spans[k].tally.Match(sig, bare)
		if !ok {
			continue
		}
		ev, err := d.Decode(s.shorten(kept))
		if at.schema.Layout.Stack.Copied > 0 {
			ev.Stack = nil
		}
		failed = cmp.Or(failed, err)
		if ev.Probe != nil {
			pairs = append(pairs, SpanPair{Span: k, Start: ev, Took: time.Duration(elapsed)})
		}
	}
	return pairs, failed
}

// Counts returns what became of the starts and ends of a span until now.
func (s *Spans) Counts(span int) PairStats {
	c := s.spans[span].tally.Counts()
	return *pairStats(&c)
}

// Stats returns the numbers of events until now.
func (s *Spans) Stats() (Stats, error) {
	st, err := s.stream.Stats()
	filtered := s.filtered.Load()
	st.Received -= filtered
	st.Filtered += filtered
	return st, err
}
