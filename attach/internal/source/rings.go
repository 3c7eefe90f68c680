package source

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/attach/internal/tally"
)

// Rings is the source that processes write to through shared memory, each to a ring of
// its own. It looks at them again and again: a process that woke it up would pay for
// that.
type Rings struct {
	tests   bool          // conditions are tested here, unless the process has tested them
	sample  int           // one in so many events that pass here is delivered; 0 for all
	Now     func() uint64 // the clock of records
	stopped atomic.Bool   // nothing is recorded any more

	Together bool          // records from before all sites record, or after stop, are left out
	closing  atomic.Uint64 // when stop began, 0 before
	ending   func() error  // stopAll, once
	Ending   chan struct{} // closed by stop

	batch   batch       // what next returns, without a lock
	rest    bool        // the round has more than the batch
	pending atomic.Bool // the batch is not empty
	cut     atomic.Bool // the last search ended at its last round: there may be records

	reading sync.Mutex // of what follows
	ready   batch      // what next returns after its batch
	filter  tally.Filter
	round   []*Process // processes that may have records in this round
	first   *Process   // the one that has the earliest record
	until   uint64     // what first may return before others have their turn
	cutoff  uint64     // the time when the round began
	polled  time.Time  // when the round began
	last    uint64     // the round after which a search ends
	rounds  atomic.Uint64

	mu     sync.Mutex // of what follows
	closed bool       // processes are added no more
	all    []*Process // replaced when it changes
	past   Counts     // of processes that are gone
	ended  []*Process // those, until sessions returns them
	fail   func(error)
}

// How long next waits for records. A process's ring holds the records of some milliseconds,
// and is slowed down by somebody who looks at its positions all the time.
const (
	ringSoon = time.Millisecond
	ringLate = 8 * time.Millisecond
)

// NewRings returns a source without processes. fail is told why one of them cannot be
// read any more.
func NewRings(tests bool, sample int, now func() uint64, fail func(error)) *Rings {
	r := &Rings{tests: tests, sample: sample, Now: now, Ending: make(chan struct{}), fail: fail}
	r.ending = sync.OnceValue(r.stopAll)
	return r
}

// batch is records that were taken from rings at a time.
type batch struct {
	records [][]byte
	n, at   int // the number of records, and of the next one
}

// batchSize is how many records are taken at a time.
const batchSize = 64

// fetch adds the next record to a batch, see fetchInto. It reports whether there is one.
func (r *Rings) fetch(b *batch, patient bool) bool {
	if b.n == len(b.records) {
		b.records = append(b.records, nil)
	}
	rec := r.fetchInto(b.records[b.n], patient)
	if rec == nil {
		return false
	}
	b.records[b.n] = rec
	b.n++
	return true
}

// Next returns the next record, in exchange for memory for another one; nil if there are
// no more.
func (b *batch) Next(buf []byte) (rec []byte) {
	if b.at == b.n {
		return nil
	}
	rec, b.records[b.at] = b.records[b.at], buf
	b.at++
	return rec
}

// Next returns records in memory that is the caller's from now on, and keeps buf.
func (r *Rings) Next(buf []byte) (rec []byte, more bool, err error) {
	for pause := ringSoon; ; pause = min(2*pause, ringLate) {
		stopped := r.stopped.Load()
		if r.batch.at == r.batch.n {
			r.fill(!stopped)
		}
		if rec := r.batch.Next(buf); rec != nil {
			if r.batch.at < r.batch.n {
				return rec, true, nil
			}
			r.pending.Store(false)
			return rec, r.rest, nil
		}
		if stopped {
			return nil, false, ErrEnd
		}
		if r.cut.Load() {
			continue
		}
		select {
		case <-time.After(pause):
		case <-r.Ending:
		}
	}
}

// maxRounds is how many rounds a search for records takes: a process may write records that
// nobody wants faster than they can be read.
const maxRounds = 2

// search begins a search. Once nothing is recorded any more, it goes on to the end. r.reading
// is locked.
func (r *Rings) search() {
	r.cut.Store(false)
	if r.last = r.rounds.Load() + maxRounds; r.stopped.Load() {
		r.last = math.MaxUint64
	}
}

// fill fills the batch of next, which is empty.
func (r *Rings) fill(patient bool) {
	r.reading.Lock()
	defer r.reading.Unlock()
	r.batch, r.ready = r.ready, r.batch
	r.ready.n, r.ready.at = 0, 0
	r.search()
	for r.batch.n < batchSize && r.fetch(&r.batch, patient) {
		patient = true // what is there now is enough
	}
	r.rest = r.first != nil
	r.pending.Store(r.batch.n > 0)
}

func (r *Rings) Nap() {} // processes that write wake up nobody for each event

func (r *Rings) Available() bool {
	if r.pending.Load() {
		return true
	}
	r.reading.Lock()
	defer r.reading.Unlock()
	r.search()
	return r.ready.n > 0 || r.fetch(&r.ready, false)
}

func (r *Rings) Stop() error { return r.ending() }

// stopAll makes all processes stop recording, and next return what they have recorded.
func (r *Rings) stopAll() error {
	r.closing.Store(r.Now())
	r.mu.Lock()
	r.closed = true
	all := r.all
	r.mu.Unlock()
	errs := make([]error, len(all))
	var stopping sync.WaitGroup
	for i, s := range all {
		stopping.Go(func() {
			if err := s.Stop(); err != nil && !s.IsGone() {
				errs[i] = fmt.Errorf("stop recording in process %d: %w", s.PID, err)
			}
		})
	}
	stopping.Wait()
	r.stopped.Store(true)
	close(r.Ending)
	return errors.Join(errs...)
}

// within reports whether a record was made while all sites recorded.
func (r *Rings) within(s *Site, at uint64) bool {
	if !r.Together {
		return true
	}
	began, closing := s.Begun.Load(), r.closing.Load()
	return began != 0 && at >= began && (closing == 0 || at < closing)
}

// HangUp ends the connections with all processes.
func (r *Rings) HangUp() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.all {
		s.HangUp()
	}
}

func (r *Rings) Drain() (n uint64) {
	for {
		n += uint64(r.batch.n - r.batch.at)
		r.batch.at = r.batch.n
		if r.fill(false); r.batch.n == 0 {
			return n
		}
	}
}

func (r *Rings) Counts() (Counts, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	st := r.past
	for _, s := range r.all {
		st.add(s.Counts())
	}
	return st, nil
}

// Dropped returns how many events were lost.
func (r *Rings) Dropped() (uint64, error) {
	c, err := r.Counts()
	return c.Lost, err
}

func (r *Rings) Close() error {
	r.ending()
	r.reading.Lock()
	defer r.reading.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for _, s := range r.all {
		errs = append(errs, s.Close())
	}
	r.all, r.round, r.first = nil, nil, nil
	return errors.Join(errs...)
}

// fetchInto returns the next record that is wanted, in buf if there is room; nil if there is
// none. A patient caller does not begin a round soon after the last one.
func (r *Rings) fetchInto(buf []byte, patient bool) []byte {
	for {
		if r.first == nil && !r.turn() {
			if r.rounds.Load() >= r.last {
				r.cut.Store(true)
				return nil
			}
			if patient && time.Since(r.polled) < ringSoon || !r.poll() {
				return nil
			}
			continue
		}
		s := r.first
		if r.until != math.MaxUint64 { // others may have their turn
			if at, ok := s.Ring.Time(); !ok || at > r.until {
				r.first = nil
				continue
			}
		}
		rec, ok, err := s.Ring.Next(buf)
		if !ok {
			r.first = nil
		} else {
			s.read++
			s.held = false
			rec, ok = s.admit(rec, r)
		}
		if err != nil {
			r.leave(s, fmt.Errorf("read the events of process %d: %w", s.PID, err))
		}
		if buf = rec; ok {
			return rec
		}
	}
}

// poll begins a round: it finds out who has recorded something. A record that was
// caused by one in another ring comes later than that, so the round ends with the
// records of its beginning.
func (r *Rings) poll() bool {
	r.rounds.Add(1)
	final := r.stopped.Load()
	r.mu.Lock()
	all := r.all
	r.mu.Unlock()
	r.polled, r.round, r.cutoff = time.Now(), r.round[:0], math.MaxUint64
	if len(all) > 1 && !final {
		r.cutoff = r.Now()
	}
	for _, s := range all {
		gone := s.IsGone()
		if final || gone {
			s.Ring.Freeze() // should the process write on
		}
		switch more, err := s.Ring.Poll(final || gone); {
		case err != nil:
			r.leave(s, fmt.Errorf("read the events of process %d: %w", s.PID, err))
		case more:
			r.round = append(r.round, s)
		case gone:
			r.leave(s, nil)
		}
	}
	return len(r.round) > 0
}

// turn makes the ring with the earliest record the first. It reports whether there is
// one in this round. A ring is left out of one round only, whatever its times are.
func (r *Rings) turn() bool {
	var earliest uint64
	next := uint64(math.MaxUint64) // after the earliest
	kept := r.round[:0]
	for _, s := range r.round {
		at, ok := s.Ring.Time()
		if late := at > r.cutoff; !ok || late && !s.held {
			s.held = late
			continue
		}
		kept = append(kept, s)
		if r.first == nil || at < earliest {
			if r.first != nil {
				next = earliest
			}
			r.first, earliest = s, at
		} else {
			next = min(next, at)
		}
	}
	clear(r.round[len(kept):])
	r.round, r.until = kept, max(earliest, min(next, r.cutoff))
	return r.first != nil
}

// leave forgets a process that is gone, or that cannot be read for a reason.
func (r *Rings) leave(s *Process, reason error) {
	r.first = nil
	r.round = slices.DeleteFunc(r.round, func(other *Process) bool { return other == s })
	r.mu.Lock()
	st := s.finalCounts()
	r.all = slices.DeleteFunc(slices.Clone(r.all), func(other *Process) bool { return other == s })
	r.past.add(st)
	r.ended = append(r.ended, s)
	s.Close()
	r.mu.Unlock()
	if reason != nil {
		r.fail(reason)
	}
}

// Sessions returns the sessions with processes, and the sessions that have left since the last
// call.
func (r *Rings) Sessions() []*Process {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := slices.Concat(r.ended, r.all)
	r.ended = nil
	return all
}

// Processes returns the processes that record.
func (r *Rings) Processes() []*Process {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all
}

// Rounds returns 0 once nothing is recorded any more: all that is there is read then.
func (r *Rings) Rounds() uint64 {
	if r.stopped.Load() {
		return 0
	}
	return r.rounds.Load()
}

// AddFaults adds to all what conditions could not read.
func (r *Rings) AddFaults(all map[query.Fault]uint64) { r.filter.Faults.AddTo(all) }

// Add adds a process. It returns an error if nothing is recorded any more.
func (r *Rings) Add(s *Process) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return errors.Join(ErrEnd, s.Close())
	}
	r.all = append(slices.Clip(r.all), s)
	return nil
}
