package attach

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/go-usdt/usdt/attach/internal/bind"
	"github.com/go-usdt/usdt/attach/internal/load"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/attach/internal/source"
	"github.com/go-usdt/usdt/attach/internal/sums"
	"github.com/go-usdt/usdt/attach/internal/tally"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/total"
)

// newTally returns a tally for the groups of a layout.
func newTally(l *bind.Layout) *tally.Tally {
	pending := 0
	if l.Pairs != nil {
		pending = l.Pairs.MaxPending()
	}
	return tally.New(l.Room(), l.Wanted.Bounds, pending)
}

// bound reports whether there is a site whose events are to be added up.
func bound(schemas []*bind.Schema) bool {
	return slices.ContainsFunc(schemas, func(sc *bind.Schema) bool { return sc != nil })
}

// addGroups makes room for starts and for the groups of an aggregate. The keys of a latency's groups
// are known with the first end, which may be found later than the starts.
func (t *tracing) addGroups(m *load.Maps, l *bind.Layout, schemas []*bind.Schema) error {
	programs := !t.options.recorded && t.options.Target.Via.attaches()
	if l.Pairs != nil && !l.Pairs.Made {
		if programs {
			if err := m.AddPairs(l); err != nil {
				return err
			}
		}
		l.Pairs.Made = true
	}
	grouped := func(sc *bind.Schema) bool {
		return sc != nil && cmp.Or(sc.Computed, sc.Sig).Aggregate.Role != query.RoleStart
	}
	if !l.Whole() && !slices.ContainsFunc(schemas, grouped) {
		return nil
	}
	if programs && !l.Whole() {
		if err := m.AddGroups(l); err != nil {
			return err
		}
	}
	l.Made = true
	return nil
}

// countTally adds what the tally did to events.
func (t *tracing) countTally(st *source.Counts) {
	c := t.tally.Counts()
	st.Lost += c.Lost
	st.Filtered += c.Filtered
	if t.layout.Pairs == nil {
		return
	}
	t.addPairs(st, pairStats(&c))
	st.Unmatched += c.Torn // the ends; programs count those as without a start
}

// adding adds up records, in one goroutine at a time.
type adding struct {
	mu     sync.Mutex
	rec    []byte // memory for one
	closed bool   // the source

	past       []total.Group // of a recording's intervals; the last one goes on in the tally
	begin, end time.Time     // of the last one
}

// Nothing reports that records wait: they are added up when some may have gathered.
const (
	addSoon = 2 * time.Millisecond // as long as records come
	addLate = 20 * time.Millisecond
)

// addUp adds up the records of the source until tracing has ended.
func (a *totals) addUp() {
	for pause := addSoon; ; pause = min(2*pause, addLate) {
		n, err := a.addWaiting()
		if err != nil {
			a.fail(err)
			return
		}
		if n > 0 {
			pause = addSoon
		}
		if a.options.Target.Via == ViaRecording {
			a.cancel() // there will be no more
			return
		}
		select {
		case <-time.After(pause):
		case <-a.done.Done():
			return // Read and Close add up the rest
		}
	}
}

// addWaiting adds up the records that wait, and returns their number. It ends, however
// fast others come: all that waited belong to the present round of looking at rings, or
// to the two that follow.
func (a *totals) addWaiting() (n int, err error) {
	a.adding.mu.Lock()
	defer a.adding.mu.Unlock()
	for last := a.source.Rounds() + 2; !a.adding.closed && a.source.Available() && a.source.Rounds() <= last; {
		rec, _, err := a.source.Next(a.adding.rec)
		if err == source.ErrEnd {
			break
		}
		if err != nil {
			return n, err
		}
		a.losses.Heard()
		a.added.Add(1)
		a.adding.rec = rec
		if a.options.Target.Via == ViaRecording {
			a.turn(time.Unix(0, int64(record.Record(rec).Time())))
		}
		a.addRecord(rec)
		a.handled.Add(1)
		n++
	}
	return n, nil
}

// addRecord adds up a record. One of a site that is not known counts as unread.
func (a *totals) addRecord(b []byte) {
	rec, err := record.Check(b)
	if err == nil {
		sites := a.sites.Load()
		if number := rec.Site(); uint64(number) < uint64(len(sites.Schemas)) && sites.Schemas[number] != nil {
			a.tally.Add(sites.Schemas[number].Computed, rec, sites.Groups[number])
			return
		}
	}
	a.unread.Add(1)
}

// Stats returns the numbers of events until now.
func (a *totals) Stats() (Stats, error) {
	if a.source != nil {
		if _, err := a.addWaiting(); err != nil {
			return Stats{}, err
		}
	}
	return a.tracing.Stats()
}

// takeTally adds the groups of the records until now, and begins anew.
func (a *totals) takeTally(all *sums.Sums) error {
	if _, err := a.addWaiting(); err != nil {
		return err
	}
	groups, stacks := a.tally.Take()
	for key, words := range groups {
		all.AddWords(key, words)
	}
	all.AddStacks(stacks)
	return nil
}

// turn begins a new interval if an event fired behind the last one's end.
func (a *totals) turn(at time.Time) {
	d := a.options.interval
	if d == 0 {
		if a.adding.begin.IsZero() {
			a.adding.begin = at
		}
		a.adding.end = at
		return
	}
	end := at.Truncate(d).Add(d)
	if !end.After(a.adding.end) {
		return
	}
	a.endInterval()
	a.adding.begin, a.adding.end = end.Add(-d), end
}

// endInterval makes groups of what was added up since the last interval: there may be many
// intervals, and the words of a group with quantiles are large.
func (a *totals) endInterval() {
	words, stacks := a.tally.Take()
	all := sums.New(a.layout, words)
	all.AddStacks(stacks)
	groups := a.groupsOf(all)
	for i := range groups {
		groups[i].From, groups[i].At = a.adding.begin, a.adding.end
	}
	a.adding.past = append(a.adding.past, groups...)
}

// takeIntervals takes the groups of recordings, interval by interval.
func (a *totals) takeIntervals() ([]total.Group, error) {
	if _, err := a.addWaiting(); err != nil {
		return nil, err
	}
	a.adding.mu.Lock()
	defer a.adding.mu.Unlock()
	a.endInterval()
	all := a.adding.past
	a.adding.past = nil
	if a.options.interval == 0 {
		a.adding.begin = time.Time{} // of the events until the next Read
	}
	return all, nil
}

// closeSource ends the adding of records.
func (a *totals) closeSource() {
	a.adding.mu.Lock()
	defer a.adding.mu.Unlock()
	if a.adding.closed = true; a.source != nil {
		a.source.Close()
	}
}
