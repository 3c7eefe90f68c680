package source

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-usdt/usdt/internal/tracefile"
)

// loss is a time in which N events were lost: none before From, and none after To.
type loss struct {
	From, To time.Time
	N        uint64
}

// Losses are the times in which events of a session were lost, by the clock of its records:
// between two looks at what has been lost until then.
type Losses struct {
	now   func() uint64          // nil if all is known from the start
	count func() (uint64, error) // what was lost until now

	heard   atomic.Bool   // a record came since the last look
	resting atomic.Bool   // looks are further apart, since none comes
	wake    chan struct{} // one has come

	mu     sync.Mutex // of what follows; the innermost, except for locks of sources
	closed bool
	looked uint64 // when all was known that was lost until then
	seen   uint64 // how much that is
	all    []Lost
}

// Lost is a loss, or with an n of 0 a time before which events of a process fired unseen.
type Lost struct {
	From, To, N uint64
	PID         int // 0 for all
}

const (
	// lossInterval is how often is looked for losses while records come, which are shown where they were.
	lossInterval = 20 * time.Millisecond
	// restInterval is how often, at least, while none comes: to be woken up costs more than to look.
	restInterval = 32 * lossInterval
	// maxLosses is how many are told apart; the oldest become one.
	maxLosses = 4096
)

// look reports whether events were lost since the last look.
func (l *Losses) look() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	seen := l.seen
	l.lookLocked()
	return l.seen > seen
}

func (l *Losses) lookLocked() {
	if l.closed || l.now == nil {
		return
	}
	began := l.now()
	lost, err := l.count()
	if err != nil {
		return // Stats says so
	}
	if lost > l.seen {
		l.add(Lost{From: l.looked, To: l.now(), N: lost - l.seen})
		l.seen = lost
	}
	l.looked = began
}

// add adds a loss, whose end is not before that of the others.
func (l *Losses) add(next Lost) {
	if n := len(l.all); n > 0 && next.From <= l.all[n-1].To && next.PID == l.all[n-1].PID {
		last := &l.all[n-1]
		last.From, last.To, last.N = min(last.From, next.From), max(last.To, next.To), last.N+next.N
		return
	}
	l.all = append(l.all, next)
	l.bound()
}

// bound makes one of the oldest, if there are too many.
func (l *Losses) bound() {
	for ; len(l.all) > maxLosses; l.all = l.all[1:] {
		first, second := &l.all[0], &l.all[1]
		second.From, second.N, second.PID = min(first.From, second.From), first.N+second.N, 0
	}
}

// Unseen says that events of processes fired unseen until a time.
func (l *Losses) Unseen(until uint64, pids []int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := len(l.all)
	for i > 0 && l.all[i-1].To > until {
		i-- // losses since then have been looked at
	}
	after := slices.Clone(l.all[i:])
	l.all = l.all[:i]
	for _, pid := range pids {
		l.add(Lost{From: until, To: until, PID: pid})
	}
	l.all = append(l.all, after...)
}

// Between reports whether events of a process may have been lost, or have fired unseen, between
// two times, of which the second is not later than now.
func (l *Losses) Between(from, to uint64, pid int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if to > l.looked {
		l.lookLocked()
	}
	for i := len(l.all) - 1; i >= 0 && l.all[i].To >= from; i-- {
		if at := &l.all[i]; at.From <= to && (at.PID == 0 || at.PID == pid) {
			return true
		}
	}
	return false
}

// Close ends the looking, before what is looked at is released.
func (l *Losses) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lookLocked()
	l.closed = true
}

// Watch looks until ctx is done, unless all is known from the start: often while records come,
// and ever more seldom while none does.
func (l *Losses) Watch(ctx context.Context) {
	if l.now == nil {
		return
	}
	pause := lossInterval
	next := time.NewTimer(pause)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.wake:
			pause = lossInterval
		case <-next.C:
			lost := l.look()
			l.resting.Store(true) // before heard is read, so that a record in between wakes up
			if l.heard.Swap(false) || lost {
				l.resting.Store(false)
				pause = lossInterval
			} else {
				pause = min(2*pause, restInterval)
			}
		}
		next.Reset(pause)
	}
}

// Heard says that a record came. The first behind a pause is looked at together with what was
// lost until then, so that what is lost from now on has its time.
func (l *Losses) Heard() {
	if l == nil || l.heard.Load() {
		return
	}
	l.heard.Store(true)
	if l.resting.Swap(false) {
		l.look()
		select {
		case l.wake <- struct{}{}:
		default:
		}
	}
}

// List returns all losses, in the time that wall makes of that of records. They do not overlap.
func (l *Losses) List(wall func(uint64) time.Time) (all []loss) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lookLocked()
	for _, at := range l.all {
		if at.N == 0 {
			continue
		}
		next := loss{From: wall(at.From), To: wall(at.To), N: at.N}
		for n := len(all); n > 0 && !next.From.After(all[n-1].To); n-- {
			if last := all[n-1]; last.From.Before(next.From) {
				next.From = last.From
			}
			next.N += all[n-1].N
			all = all[:n-1]
		}
		all = append(all, next)
	}
	return all
}

// Time returns the present time.
func (l *Losses) Time() uint64 {
	if l.now == nil {
		return 0
	}
	return l.now()
}

// Take returns all, and forgets it.
func (l *Losses) Take() []Lost {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lookLocked()
	all := l.all
	l.all = nil
	return all
}

// Copy returns all.
func (l *Losses) Copy() []Lost {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lookLocked()
	return slices.Clone(l.all)
}

// know adds losses of recordings, which come in no order.
func (l *Losses) know(more []tracefile.Loss) {
	l.mu.Lock()
	defer l.mu.Unlock()
	late := false
	for _, next := range more {
		if next.From <= next.To {
			late = late || len(l.all) > 0 && l.all[len(l.all)-1].To > uint64(next.To)
			l.all = append(l.all, Lost{uint64(next.From), uint64(next.To), next.N, next.PID})
		}
	}
	if late {
		slices.SortFunc(l.all, func(a, b Lost) int { return cmp.Compare(a.To, b.To) })
	}
	l.bound()
}

// NewLosses returns the losses of events until now, by a clock and by who counts them.
func NewLosses(now func() uint64, count func() (uint64, error)) *Losses {
	return &Losses{now: now, looked: now(), count: count, wake: make(chan struct{}, 1)}
}
