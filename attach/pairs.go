package attach

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/go-usdt/usdt/attach/internal/bind"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/attach/internal/sums"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/selector"
	"github.com/go-usdt/usdt/total"
)

// PairOptions say which pairs of starts and ends are delivered. The zero value matches as
// that of [LatencyOptions] does, and delivers all.
type PairOptions struct {
	// Key matches as [LatencyOptions.Key] does.
	Key []string

	// Flat is that of [LatencyOptions.Flat].
	Flat bool

	// Slower leaves out pairs that took no longer than this. The kernel leaves them out,
	// so that they cost no event. 0 leaves out none.
	Slower time.Duration

	// Times asks for what [Pairs.Times] returns.
	Times bool

	// MaxPending bounds the keys whose starts wait for their ends, each with its arguments;
	// 0 means as many as fit in 32 MiB, at most 16384. When there are more, the ones that
	// have waited longest are forgotten, and counted.
	MaxPending int

	RingSize, MaxString int // see [EventOptions]
	Groups              bool
}

// Validate checks the options without looking at probes. The error is an [*OptionError], and wraps
// [ErrAggregation]. o may be nil.
func (o *PairOptions) Validate() error {
	if o == nil {
		return nil
	}
	if o.Slower < 0 {
		return &OptionError{"Slower", fmt.Errorf("%w: %v is negative", ErrAggregation, o.Slower)}
	}
	if err := checkPending(o.MaxPending); err != nil {
		return err
	}
	if _, err := bind.KeyNames(o.Key); err != nil {
		return optionError("Key", err)
	}
	return (&EventOptions{RingSize: o.RingSize, MaxString: o.MaxString, Groups: o.Groups}).Validate(nil)
}

// checkPending returns what is wrong with an option MaxPending.
func checkPending(pending int) error {
	if pending < 0 || pending > maxPending {
		return &OptionError{"MaxPending", fmt.Errorf("%w: %d is not between 0 and %d starts", ErrAggregation, pending, maxPending)}
	}
	return nil
}

// Pair is a start and its end.
type Pair struct {
	Start, End event.Event
	Took       time.Duration // from Start.Time to End.Time
}

// Pairs is two sets of probes, starts and ends. It delivers each pair with the arguments
// of both events, unless the pair was fast.
type Pairs struct {
	stream
	latest atomic.Uint64 // when the last event of a recording fired that was read
}

// OpenPairs attaches to the probes that start and end name, as [OpenLatency] does, to
// deliver pairs instead of adding up their times: with PairOptions.Slower, only what took
// long, such as statements of a database with their text.
//
// Each condition between && in Options.Where is tested at the probes that have all of its
// arguments. A pair is delivered if both its start and its end pass; events that do not pass
// are matched all the same. If a start has many strings, fewer than MaxString bytes of them
// may be kept.
//
// With Options.Unwind, only ends have stacks: a start is kept until its end comes, and copies
// of stacks would take too much memory. With Options.Stack alone, and through shared memory,
// both have stacks.
//
// what and opts may be nil. In [Stats] both events of a pair are received.
// Events of fast pairs, and starts and ends without a partner, are filtered; see
// [Pairs.Counts].
func OpenPairs(ctx context.Context, start, end string, what *PairOptions, opts *Options) (*Pairs, error) {
	if err := usable(ctx); err != nil {
		return nil, err
	}
	if what == nil {
		what = &PairOptions{}
	}
	o, err := opts.used(&EventOptions{RingSize: what.RingSize, MaxString: what.MaxString, Groups: what.Groups})
	if err != nil {
		return nil, err
	}
	if err := what.Validate(); err != nil {
		return nil, err
	}
	layout, err := pairLayout(start, end, what.Key, what.Flat, what.MaxPending)
	if err != nil {
		return nil, err
	}
	layout.Whole, layout.Slower, layout.Times = true, what.Slower, what.Times
	return openBy(o, func(p *Pairs, o *settings) error {
		pairs := *layout
		return p.open(ctx, []string{start, end}, o, &bind.Layout{Layout: query.Layout{Value: query.Elapsed}, Pairs: &pairs})
	})
}

// maxPending is the largest number of keys that may wait.
const maxPending = 1 << 24

// pairLayout returns what starts and ends of these selectors share. pending is 0 for the
// default.
func pairLayout(start, end string, key []string, flat bool, pending int) (l *bind.PairLayout, err error) {
	if err := checkPending(pending); err != nil {
		return nil, err
	}
	l = &bind.PairLayout{Flat: flat, Pending: pending}
	if l.Key, err = bind.KeyNames(key); err != nil {
		return nil, optionError("Key", err)
	}
	if l.Start, err = parseSelector(start); err != nil {
		return nil, err
	}
	if l.End, err = parseSelector(end); err != nil {
		return nil, err
	}
	selector.Unite(&l.Start, &l.End)
	return l, nil
}

func (p *Pairs) open(ctx context.Context, selectors []string, o *settings, layout *bind.Layout) error {
	o = o.ofKeys(layout)
	if o.Target.Via.isLocal() {
		p.tally = newTally(layout)
		if layout.Pairs.Times {
			p.tally.Times = make([]uint64, times.Words())
		}
	}
	return p.begin(ctx, selectors, o, layout)
}

// All yields the pairs as their ends fire. It ends when [Session.Events] would, and treats
// errors as that does. Only one of them should run at a time.
func (p *Pairs) All() iter.Seq2[Pair, error] {
	return func(yield func(Pair, error) bool) {
		d := p.decoder()
		p.records(func(rec []byte, _ bool, err error) bool {
			if err != nil {
				return yield(Pair{}, err)
			}
			start, end, ok, err := p.match(rec)
			if !ok || err != nil {
				return err == nil || yield(Pair{}, err)
			}
			var pair Pair
			var endErr error
			pair.Start, err = d.Decode(start)
			pair.End, endErr = d.Decode(end)
			if err == nil {
				err = endErr
			}
			pair.Took = time.Duration(end.Time() - start.Time())
			both := pair.Start.Probe != nil && pair.End.Probe != nil
			if both {
				p.received.Add(2)
			} else {
				p.unread.Add(2)
			}
			return yield(pair, err) && (err == nil || both)
		})
	}
}

// match returns the records of the pair that a record of the source completes, if it does.
// They are valid until the next call. A record that is damaged, or of a site that is not known,
// counts as unread.
func (p *Pairs) match(b []byte) (start, end record.Record, ok bool, err error) {
	defer func() {
		if err != nil {
			p.unread.Add(p.events(b))
		}
	}()
	end, err = record.Check(b)
	if err != nil {
		return nil, nil, false, err
	}
	sc := p.schema(end.Site())
	switch {
	case sc == nil:
		p.unread.Add(p.events(b))
		return nil, nil, false, nil
	case sc.Computed == nil:
		start, end, err = splitPair(b)
		return start, end, err == nil, err
	}
	p.latest.Store(max(p.latest.Load(), end.Time()))
	began, elapsed, ok := p.tally.Match(sc.Computed, end)
	if !ok {
		return nil, nil, false, nil
	}
	at := end.Time()
	start, end = p.shorten(began), p.shorten(end)
	setTimes(start, end, at-min(at, elapsed), elapsed)
	return start, end, true, nil
}

// schema returns what is read at the site of a number, nil if it is not known.
func (p *stream) schema(number uint32) *bind.Schema {
	sites := p.sites.Load()
	if uint64(number) >= uint64(len(sites.Schemas)) {
		return nil
	}
	return sites.Schemas[number]
}

// shorten leaves of a record's strings what events hold of them.
func (p *stream) shorten(rec record.Record) record.Record {
	sc := p.schema(rec.Site())
	if sc == nil || sc.Computed == nil || sc.Sig.Limit >= sc.Computed.Limit {
		return rec
	}
	return sc.Computed.Shorten(rec, sc.Sig.Limit)
}

// splitPair returns the records of a pair that a program has recorded.
func splitPair(b []byte) (start, end record.Record, err error) {
	foot := len(b) - query.PairFooter
	if foot < 2*record.HeaderSize {
		return nil, nil, fmt.Errorf("a pair of %d bytes is shorter than two events", len(b))
	}
	word := func(at int) uint64 { return binary.NativeEndian.Uint64(b[foot+at:]) }
	length := word(query.PairLength)
	if length < record.HeaderSize || length > uint64(foot-record.HeaderSize) {
		return nil, nil, fmt.Errorf("a pair of %d bytes has a start of %d", len(b), length)
	}
	middle := foot - int(length)
	start, end = b[middle:foot], b[:middle]
	setTimes(start, end, word(query.PairStarted), word(query.PairElapsed))
	return start, end, nil
}

// setTimes sets the times of a pair's records.
func setTimes(start, end record.Record, started, elapsed uint64) {
	binary.NativeEndian.PutUint64(start[record.Time:], started)
	binary.NativeEndian.PutUint64(end[record.Time:], started+elapsed)
}

// events returns how many events a record of the source is: a pair that a program has
// recorded is two.
func (p *stream) events(b []byte) uint64 {
	rec, err := record.Check(b)
	if err != nil && p.tally != nil {
		return 1 // most likely
	} else if err != nil {
		return 2
	}
	sites := p.sites.Load()
	if number := rec.Site(); uint64(number) < uint64(len(sites.Schemas)) {
		if sc := sites.Schemas[number]; sc != nil && sc.Computed != nil {
			return 1
		}
	}
	return 2
}

// dropPairs counts the records that wait as unread. Nothing is recorded any more.
func (p *stream) dropPairs() {
	var rec []byte
	for !p.ended {
		var err error
		if rec, _, err = p.source.Next(rec); err != nil {
			return
		}
		p.unread.Add(p.events(rec))
	}
}

// Counts returns what became of starts and ends until now.
func (p *Pairs) Counts() (PairStats, error) {
	_, err := p.Stats()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pairs, err
}

// times is what groups of the times of pairs have.
var times = bind.Layout{Layout: query.Layout{Wanted: query.Computation{Value: "latency", Functions: query.Of(query.Sum, query.Avg), Hist: true}, Value: query.Elapsed}}

// Times returns how long pairs took until now, as a group of [OpenLatency]: also pairs that
// PairOptions.Slower leaves out, so that one session has both the histogram and what was slow. Its
// Count is that of [PairStats.Pairs], and Hist has powers of two. Pairs that come through shared
// memory or from recordings are added up by [Pairs.All]. It needs PairOptions.Times.
func (p *Pairs) Times() (total.Group, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
		return total.Group{}, fmt.Errorf("the session is %w", ErrClosed)
	case !p.layout.Pairs.Times:
		return total.Group{}, errors.New("the times of pairs were not asked for: set PairOptions.Times")
	}
	all := sums.New(&times, map[string][]uint64{})
	all.Of("")
	if p.tally != nil {
		p.tally.ReadTimes(all.AddWords)
	}
	if p.programs != nil && p.programs.maps != nil {
		if err := p.programs.maps.EachTimes(all.Add); err != nil {
			return total.Group{}, err
		}
	}
	if groups := all.Groups(nil); len(groups) > 0 {
		return groups[0], nil
	}
	return total.Group{}, nil // of no pair
}

// MarshalJSON returns the pair as one JSON object, with the nanoseconds that it took and the
// objects that [event.Event.MarshalJSON] makes of its events:
//
//	{"latency": …, "start": {…}, "end": {…}}
//
// The end is null if it has none, see [Pairs.Waiting].
func (p Pair) MarshalJSON() ([]byte, error) { return p.AppendJSON(nil), nil }

// AppendJSON appends to dst what MarshalJSON returns.
func (p *Pair) AppendJSON(dst []byte) []byte {
	dst = strconv.AppendInt(append(dst, `{"latency":`...), int64(p.Took), 10)
	dst = p.Start.AppendJSON(append(dst, `,"start":`...))
	if dst = append(dst, `,"end":`...); p.End.Time.IsZero() {
		return append(dst, "null}"...)
	}
	return append(p.End.AppendJSON(dst), '}')
}

// UnmarshalJSON sets the pair to one that MarshalJSON has written, see [event.Event.UnmarshalJSON].
func (p *Pair) UnmarshalJSON(data []byte) error {
	var in struct {
		Latency int64
		Start   event.Event
		End     *event.Event
	}
	if err := json.Unmarshal(data, &in); err != nil {
		return fmt.Errorf("decode a pair: %w", err)
	}
	*p = Pair{Start: in.Start, Took: time.Duration(in.Latency)}
	if in.End != nil {
		p.End = *in.End
	}
	return nil
}
