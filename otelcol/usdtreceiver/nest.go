package usdtreceiver

import (
	"slices"
	"sync"
	"time"
)

// nests are the spans that wait for the ones around them, of all traces that nest: one's may lie within
// another's.
var nests struct {
	mu      sync.Mutex
	threads map[thread][]*nested // in the order in which they came
	n       int
}

// thread is one of a process.
type thread struct{ pid, tid int }

// nested is a span that waits, or that others may lie within.
type nested struct {
	*span
	of      *nest
	came    time.Time
	outer   *nested // as enclose has found it last; nil for none
	settled bool    // its parent and trace are known
	given   bool    // handed on
}

// nest is what one trace has of nests.
type nest struct {
	patience time.Duration
	give     func(*span)
	stop     chan struct{}
	done     sync.WaitGroup
}

const (
	longestNest = time.Minute
	// maxNested is how many spans are kept at a time. Others are handed on at once.
	maxNested = 1 << 14
)

// newNest returns a nest that gives spans that have waited for long enough.
func newNest(patience time.Duration, give func(*span)) *nest {
	n := &nest{patience: patience, give: give, stop: make(chan struct{})}
	n.done.Go(func() {
		tick := time.NewTicker(min(batchTime, patience))
		defer tick.Stop()
		for {
			select {
			case now := <-tick.C:
				n.handOn(now)
			case <-n.stop:
				return
			}
		}
	})
	return n
}

// add has a span wait, unless it is not of one thread or there are too many.
func (n *nest) add(s *span) bool {
	at := thread{s.Start.PID, s.Start.TID}
	if s.End.TID != at.tid || s.End.PID != at.pid || at.tid == 0 {
		return false
	}
	nests.mu.Lock()
	defer nests.mu.Unlock()
	if nests.n >= maxNested {
		return false
	}
	if nests.threads == nil {
		nests.threads = map[thread][]*nested{}
	}
	nests.threads[at] = append(nests.threads[at], &nested{span: s, of: n, came: time.Now()})
	nests.n++
	return true
}

// handOn gives the spans that have waited for long enough, and forgets the ones within which nothing lies
// any more that may still come.
func (n *nest) handOn(now time.Time) {
	n.each(func(s *nested) (give, forget bool) {
		return !s.given && due(s, now), s.given && now.Sub(s.came) >= 2*n.patience
	})
}

// close gives all that is left.
func (n *nest) close() {
	close(n.stop)
	n.done.Wait()
	n.each(func(s *nested) (give, forget bool) { return !s.given, true })
}

// each gives or forgets the spans of n.
func (n *nest) each(what func(s *nested) (give, forget bool)) {
	var out []*span
	nests.mu.Lock()
	for at, all := range nests.threads {
		enclose(all)
		kept, gone := make([]*nested, 0, len(all)), map[*nested]bool{}
		for _, s := range all {
			give, forget := false, false
			if s.of == n {
				give, forget = what(s)
			}
			if give {
				settle(s)
				s.given = true
				out = append(out, s.span)
			}
			if forget {
				gone[s] = true
			} else {
				kept = append(kept, s)
			}
		}
		for _, s := range kept {
			if !s.settled && gone[s.outer] { // of a trace that waits for longer
				settle(s)
			}
		}
		nests.n -= len(gone)
		if nests.threads[at] = kept; len(kept) == 0 {
			delete(nests.threads, at)
		}
	}
	nests.mu.Unlock()
	for _, s := range out {
		n.give(s) // which may wait for the pipeline
	}
}

// clocks is how far the times of two sessions may be apart, less than a trap into the kernel takes.
const clocks = 200 * time.Nanosecond

// enclose finds the shortest span around each one of a thread. It looks only at spans that have begun when
// another one begins and have not ended: as many as calls nest.
func enclose(all []*nested) {
	order := slices.Clone(all)
	slices.SortStableFunc(order, func(a, b *nested) int { return a.Start.Time.Compare(b.Start.Time) })
	var begun []*nested
	for i, s := range order {
		s.outer = nil
		begun = slices.DeleteFunc(begun, func(other *nested) bool { return s.Start.Time.Sub(other.End.Time) > clocks })
		for _, other := range begun {
			s.within(other)
		}
		for _, other := range order[i+1:] {
			if other.Start.Time.Sub(s.Start.Time) > clocks {
				break
			}
			s.within(other)
		}
		begun = append(begun, s)
	}
}

// within notes another span if s lies within it, and within none that is shorter.
func (s *nested) within(other *nested) {
	if other.Took > s.Took && (s.outer == nil || other.Took < s.outer.Took) &&
		other.Start.Time.Sub(s.Start.Time) <= clocks && s.End.Time.Sub(other.End.Time) <= clocks {
		s.outer = other
	}
}

// due reports whether a span and all around it have waited for long enough: what is around these is then
// known as well.
func due(s *nested, now time.Time) bool {
	for ; s != nil && !s.settled; s = s.outer {
		if now.Sub(s.came) < s.of.patience {
			return false
		}
	}
	return true
}

// settle makes a span the child of the one around it, unless arguments name another parent or trace.
func settle(s *nested) {
	if s.settled {
		return
	}
	s.settled = true
	outer := s.outer
	if outer == nil {
		return
	}
	settle(outer)
	if !s.joined || s.parent.IsEmpty() && s.trace == outer.trace {
		s.parent, s.trace = outer.id, outer.trace
	}
}
