package attach

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/go-usdt/usdt/attach/internal/clock"
	"github.com/go-usdt/usdt/attach/internal/codegen"
	"github.com/go-usdt/usdt/internal/tracefile"
)

// Loss is a time in which N events were lost: none before From, and none after To.
type Loss struct {
	From, To time.Time
	N        uint64
}

// losses are the times in which events of a session were lost, by the clock of its records:
// between two looks at what has been lost until then.
type losses struct {
	now   func() uint64          // nil if all is known from the start
	count func() (uint64, error) // what was lost until now

	mu     sync.Mutex // of what follows; the innermost except for those of sources
	closed bool
	looked uint64 // when all was known that was lost until then
	seen   uint64 // how much that is
	all    []lossAt
}

// lossAt is a loss, or with an n of 0 a time before which events of a process fired unseen.
type lossAt struct {
	from, to, n uint64
	pid         int // 0 for all
}

const (
	// lossInterval is how often is looked for losses, which are shown where they were.
	lossInterval = 20 * time.Millisecond
	// maxLosses is how many are told apart; the oldest become one.
	maxLosses = 4096
)

// look finds out whether events were lost since the last look.
func (l *losses) look() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lookLocked()
}

func (l *losses) lookLocked() {
	if l.closed || l.now == nil {
		return
	}
	began := l.now()
	lost, err := l.count()
	if err != nil {
		return // Stats says so
	}
	if lost > l.seen {
		l.add(lossAt{from: l.looked, to: l.now(), n: lost - l.seen})
		l.seen = lost
	}
	l.looked = began
}

// add adds a loss, whose end is not before that of the others.
func (l *losses) add(next lossAt) {
	if n := len(l.all); n > 0 && next.from <= l.all[n-1].to && next.pid == l.all[n-1].pid {
		last := &l.all[n-1]
		last.from, last.to, last.n = min(last.from, next.from), max(last.to, next.to), last.n+next.n
		return
	}
	l.all = append(l.all, next)
	l.bound()
}

// bound makes one of the oldest, if there are too many.
func (l *losses) bound() {
	for ; len(l.all) > maxLosses; l.all = l.all[1:] {
		first, second := &l.all[0], &l.all[1]
		second.from, second.n, second.pid = min(first.from, second.from), first.n+second.n, 0
	}
}

// unseen says that events of processes fired unseen, until now at the latest.
func (l *losses) unseen(since uint64, pids []int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lookLocked()
	for _, pid := range pids {
		l.add(lossAt{from: since, to: l.now(), pid: pid})
	}
}

// between reports whether events of a process may have been lost, or have fired unseen, between
// two times, of which the second is not later than now.
func (l *losses) between(from, to uint64, pid int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if to > l.looked {
		l.lookLocked()
	}
	for i := len(l.all) - 1; i >= 0 && l.all[i].to >= from; i-- {
		if at := &l.all[i]; at.from <= to && (at.pid == 0 || at.pid == pid) {
			return true
		}
	}
	return false
}

// close ends the looking, before what is looked at is released.
func (l *losses) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lookLocked()
	l.closed = true
}

// watch looks until ctx is done.
func (l *losses) watch(ctx context.Context) {
	ticks := time.NewTicker(lossInterval)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
			l.look()
		}
	}
}

// list returns all losses, in the time that wall makes of that of records. They do not overlap.
func (l *losses) list(wall func(uint64) time.Time) (all []Loss) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lookLocked()
	for _, at := range l.all {
		if at.n == 0 {
			continue
		}
		next := Loss{From: wall(at.from), To: wall(at.to), N: at.n}
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

// time returns the present time.
func (l *losses) time() uint64 {
	if l.now == nil {
		return 0
	}
	return l.now()
}

// take returns all, and forgets it.
func (l *losses) take() []lossAt {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lookLocked()
	all := l.all
	l.all = nil
	return all
}

// know adds losses of recordings, which come in no order.
func (l *losses) know(more []tracefile.Loss) {
	l.mu.Lock()
	defer l.mu.Unlock()
	late := false
	for _, next := range more {
		if next.From <= next.To {
			late = late || len(l.all) > 0 && l.all[len(l.all)-1].to > uint64(next.To)
			l.all = append(l.all, lossAt{uint64(next.From), uint64(next.To), next.N, next.PID})
		}
	}
	if late {
		slices.SortFunc(l.all, func(a, b lossAt) int { return cmp.Compare(a.to, b.to) })
	}
	l.bound()
}

// newLosses returns the losses of a tracing that is about to begin.
func (t *tracing) newLosses() (*losses, error) {
	if t.local != nil && t.local.recordings != nil {
		return t.local.recordings.lost, nil
	}
	now, err := clock.Now()
	if err != nil {
		return nil, err
	}
	return &losses{now: now, looked: now(), count: t.lost}, nil
}

// lost returns how many events were lost until now. It takes no lock of the tracing: whoever
// matches starts and ends asks, with others held.
func (t *tracing) lost() (n uint64, err error) {
	if t.maps != nil {
		c, err := t.maps.count()
		if err != nil {
			return 0, err
		}
		n = c.at(codegen.CounterLost) + c.at(codegen.CounterFull)
	}
	if t.local != nil {
		st, err := t.local.counts()
		if err != nil {
			return 0, err
		}
		n += st.Lost
	}
	return n, nil
}

// Losses returns when events were lost until now: between looks that are 20 ms apart, or as
// the file of a [Recorder] says. If there are very many, the oldest are joined into one.
func (s *stream) Losses() []Loss {
	if s.losses == nil {
		return nil // it has not begun
	}
	c := s.clock
	return s.losses.list(c.Wall)
}
