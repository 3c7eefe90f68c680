package attach

import (
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/go-usdt/usdt/attach/internal/bind"
	"github.com/go-usdt/usdt/attach/internal/filter"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/attach/internal/source"
	"github.com/go-usdt/usdt/attach/internal/tally"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/decode"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/shape"
	"github.com/go-usdt/usdt/reader"
)

// SnapshotOptions say when snapshots are taken, and what is in them.
type SnapshotOptions struct {
	// On is a condition like [Options.Where]. It is tested here, on the events that
	// arrive: [EventOptions.On] has them hold what it compares, of text the first
	// [EventOptions.MaxString] bytes. Probes without its arguments do not fulfil it.
	On string
	// Before and After are how many events before and after the one that fulfils the
	// condition are in a snapshot, of all probes; 0 means 100 and 20, and a negative
	// number means none.
	Before, After int
	// Wait is how long a snapshot waits for events after it; 0 means a second. Events of
	// a later time are not in it.
	Wait time.Duration
	// Every is the least time from one snapshot to the next, by the times of the events
	// that fulfil the condition; 0 means a second. Events that fulfil it meanwhile are
	// counted.
	Every time.Duration
}

// Snapshot is events around one that fulfils a condition.
type Snapshot struct {
	// Events are in the order in which they arrived; the one at the index On fulfils the
	// condition.
	Events []event.Event
	On     int
	// Skipped is how many other events have fulfilled the condition since the last
	// snapshot.
	Skipped uint64
}

// Snapshots yields what happened around events that fulfil a condition. It reads the
// session's events, as [Session.Events] does, and ends when that would. Only one of
// them should run at a time. The error is a [*WhereError] if no probe of the session
// has what the condition asks for.
func (s *Session) Snapshots(o SnapshotOptions) iter.Seq2[Snapshot, error] {
	return func(yield func(Snapshot, error) bool) {
		w, err := s.newSnapshooter(o)
		if err != nil {
			yield(Snapshot{}, err)
			return
		}
		for {
			if !w.due.IsZero() && !w.wait() {
				if !yield(w.take(), nil) {
					return
				}
				continue
			}
			rec, _, err := s.next(w.rec)
			if err != nil {
				if !w.due.IsZero() && !yield(w.take(), nil) {
					return
				}
				if err != source.ErrEnd {
					yield(Snapshot{}, err)
				}
				return
			}
			w.rec = rec
			if w.awaits {
				if err := w.fits(); err != nil {
					s.handled.Add(1)
					yield(Snapshot{}, err)
					return
				}
			}
			if w.isLate(rec) && !yield(w.take(), nil) {
				s.handled.Add(1)
				return
			}
			full := w.see(rec)
			s.handled.Add(1)
			if full && !yield(w.take(), nil) {
				return
			}
		}
	}
}

// Skipped returns how many events have fulfilled the condition of [Session.Snapshots] of which no
// snapshot was taken: they came in the snapshot of another one, or sooner behind its beginning than
// [SnapshotOptions.Every].
func (s *Session) Skipped() uint64 { return s.skipped.Load() }

// snapshooter looks for events that fulfil a condition, and takes snapshots.
type snapshooter struct {
	s       *Session
	options SnapshotOptions
	expr    *filter.Expr
	conds   map[*bind.Schema]*query.Signature // nil where the condition does not fit
	filter  tally.Filter
	decoder decode.Decoder
	rec     []byte // memory for one
	awaits  bool   // no site has been known

	last    [][]byte // the last events, the oldest at next
	next    int
	kept    int
	events  [][]byte  // of the snapshot that is being taken, with those before
	on      int       // the one that fulfils the condition
	due     time.Time // when the snapshot waits no more; zero if none is being taken
	left    int       // events that the snapshot lacks
	began   bool      // there was one
	taken   uint64    // when the last one began, by the clock of records
	skipped uint64
}

const (
	defaultBefore = 100
	defaultAfter  = 20
	maxAround     = 1 << 20
)

func (s *Session) newSnapshooter(o SnapshotOptions) (*snapshooter, error) {
	for name, n := range map[string]int{"Before": o.Before, "After": o.After} {
		if n > maxAround {
			return nil, &OptionError{name, fmt.Errorf("%d events are more than %d", n, maxAround)}
		}
	}
	for name, d := range map[string]time.Duration{"Wait": o.Wait, "Every": o.Every} {
		if d < 0 {
			return nil, &OptionError{name, fmt.Errorf("%v is negative", d)}
		}
	}
	if o.Before == 0 {
		o.Before = defaultBefore
	}
	if o.After == 0 {
		o.After = defaultAfter
	}
	o.Before, o.After = max(o.Before, 0), max(o.After, 0)
	if o.Wait == 0 {
		o.Wait = time.Second
	}
	if o.Every == 0 {
		o.Every = time.Second
	}
	expr, err := parseWhere(o.On)
	if err != nil {
		return nil, optionError("On", err)
	}
	if s.options.Omit&OmitTime != 0 {
		return nil, &OptionError{"Omit", errors.New("snapshots go by the times of events")}
	}
	w := &snapshooter{s: s, options: o, expr: expr, conds: map[*bind.Schema]*query.Signature{}, decoder: s.decoder(), last: make([][]byte, o.Before)}
	return w, w.fits()
}

// fits returns why the condition fits none of the sites that are known; nil if none is known.
func (w *snapshooter) fits() error {
	sites := w.s.sites.Load()
	w.awaits = !bound(sites.Schemas)
	return fitsOne(w.expr, sites.Schemas, func(i int) *reader.Probe { return sites.Probes[i] })
}

// fitsOne returns why a condition of snapshots fits none of the sites that have a schema; nil
// if there are none. A site that has the arguments says more than one that lacks them.
func fitsOne(expr *filter.Expr, schemas []*bind.Schema, probe func(int) *reader.Probe) error {
	var misfit error
	lacks := true
	for i, sc := range schemas {
		if sc == nil {
			continue
		}
		_, err := bind.Tested(expr, sc, probe(i))
		if err == nil {
			return nil
		}
		if none := (*shape.NoArgument)(nil); lacks {
			misfit, lacks = whereError(err), errors.As(err, &none)
		}
	}
	return misfit
}

// fulfils reports whether a record fulfils the condition.
func (w *snapshooter) fulfils(rec []byte) bool {
	sites := w.s.sites.Load()
	number := record.Record(rec).Site()
	if uint64(number) >= uint64(len(sites.Schemas)) || sites.Schemas[number] == nil {
		return false
	}
	sc := sites.Schemas[number]
	cond, known := w.conds[sc]
	if !known {
		if len(w.conds) > 2*len(sites.Schemas) { // most belong to sites that have been left
			clear(w.conds)
		}
		cond, _ = bind.Tested(w.expr, sc, sites.Probes[number])
		w.conds[sc] = cond
	}
	return cond != nil && w.filter.Passes(cond, rec)
}

// since returns the time from the beginning of the last snapshot to an event.
func (w *snapshooter) since(rec record.Record) time.Duration {
	return time.Duration(rec.Time() - w.taken)
}

// isLate reports whether a snapshot is being taken that an event comes too late for.
func (w *snapshooter) isLate(rec []byte) bool {
	if _, err := record.Check(rec); err != nil || w.due.IsZero() {
		return false
	}
	return w.since(rec) > w.options.Wait
}

// see takes note of an event. It reports whether a snapshot is complete.
func (w *snapshooter) see(rec []byte) bool {
	if _, err := record.Check(rec); err != nil {
		return false
	}
	hit := w.fulfils(rec)
	switch {
	case !w.due.IsZero():
		w.events = append(w.events, append([]byte(nil), rec...))
		w.left--
		if hit {
			w.skip()
		}
		return w.left <= 0
	case hit && (!w.began || w.since(rec) >= w.options.Every):
		w.begin(rec)
		return w.left <= 0
	case hit:
		w.skip()
	}
	w.keep(rec)
	return false
}

// skip counts an event that fulfils the condition, of which no snapshot is taken.
func (w *snapshooter) skip() {
	w.skipped++
	w.s.skipped.Add(1)
}

// keep keeps an event as one of the last.
func (w *snapshooter) keep(rec []byte) {
	if len(w.last) == 0 {
		return
	}
	w.last[w.next] = append(w.last[w.next][:0], rec...)
	w.next = (w.next + 1) % len(w.last)
	w.kept = min(w.kept+1, len(w.last))
}

// begin begins a snapshot with the last events and the one that fulfils the condition.
func (w *snapshooter) begin(rec []byte) {
	w.began, w.taken = true, record.Record(rec).Time()
	w.due, w.left = time.Now().Add(w.options.Wait), w.options.After
	w.events = w.events[:0]
	for i := range w.kept {
		at := (w.next - w.kept + i + len(w.last)) % len(w.last)
		w.events = append(w.events, append([]byte(nil), w.last[at]...))
	}
	w.on = len(w.events)
	w.events = append(w.events, append([]byte(nil), rec...))
}

// wait waits until an event is there, and reports whether one came in time.
func (w *snapshooter) wait() bool {
	if w.s.options.Target.Via == ViaRecording {
		return true // what is there is there
	}
	for w.s.Idle() {
		left := time.Until(w.due)
		if left <= 0 {
			return false
		}
		if w.s.over() {
			return true // the next call says so
		}
		time.Sleep(min(left, snapshotPoll))
	}
	return true
}

// snapshotPoll is how often events are looked for while a snapshot waits.
const snapshotPoll = 2 * time.Millisecond

// over reports whether there will be no more events than there are.
func (s *stream) over() bool {
	if s.stopped.Load() {
		return true
	}
	s.reading.Lock()
	defer s.reading.Unlock()
	return s.ended
}

// take returns the snapshot, whose events are those before the next one.
func (w *snapshooter) take() Snapshot {
	snap := Snapshot{On: w.on, Skipped: w.skipped}
	for i, rec := range w.events {
		ev, err := w.decoder.Decode(rec)
		if err != nil && ev.Probe == nil {
			if i < w.on {
				snap.On--
			}
			continue
		}
		snap.Events = append(snap.Events, ev)
	}
	for _, rec := range w.events[w.on:] { // those before are kept
		w.keep(rec)
	}
	w.events, w.due, w.skipped = nil, time.Time{}, 0
	return snap
}
