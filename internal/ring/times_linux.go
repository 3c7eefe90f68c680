package ring

import "sort"

// times converts the clock of a ring to that of its reader. A reader looks at both
// clocks each time that it looks for records; between two looks, the clocks run evenly.
type times struct {
	clock       func() uint64 // that of the ring
	now         func() uint64
	comparisons []comparison
	limit       uint64 // the end of the round
	between     segment
}

// segment is the time between two samples, in which the last time was that was
// converted.
type segment struct {
	start, end uint64 // by the ring's clock
	reader     uint64 // the reader's clock at the start
	rate       float64
}

// comparison is what the two clocks showed at one time.
type comparison struct{ ring, reader uint64 }

const (
	maxComparisons = 256
	compareTries   = 3       // of which the one that took least counts
	compareSpread  = 500_000 // nanoseconds between comparisons that are kept
)

func newTimes(c Clock, now func() uint64) times {
	t := times{clock: counter, now: now}
	if c == Monotonic {
		t.clock = Now
	}
	t.compare()
	return t
}

// compare compares the clocks, and returns what the ring's showed.
func (t *times) compare() uint64 {
	first := t.clock()
	var s comparison
	for width := uint64(1<<64 - 1); ; {
		best := false
		for range compareTries {
			before := t.clock()
			reader := t.now()
			if after := t.clock(); after-before < width {
				width, best = after-before, true
				s = comparison{before + (after-before)/2, reader}
			}
		}
		if best {
			break
		}
	}
	t.between = segment{} // its end may move
	n := len(t.comparisons)
	if n > 1 && s.reader-t.comparisons[n-2].reader < compareSpread {
		t.comparisons[n-1] = s // the last one is always there
		return first
	}
	if n == maxComparisons {
		// The older half gives every second comparison up.
		for i := range maxComparisons / 4 {
			t.comparisons[i] = t.comparisons[2*i]
		}
		n = maxComparisons/4 + copy(t.comparisons[maxComparisons/4:], t.comparisons[maxComparisons/2:])
		t.comparisons = t.comparisons[:n]
	}
	t.comparisons = append(t.comparisons, s)
	return first
}

// of converts a time of the ring.
func (t *times) of(at uint64) uint64 {
	s := &t.between
	if at-s.start >= s.end-s.start {
		t.find(at)
	}
	return s.reader + uint64(int64(float64(int64(at-s.start))*s.rate))
}

// find makes between what of converts a time by: the time between the samples around it,
// or else the first or the last one.
func (t *times) find(at uint64) {
	s := t.comparisons
	if len(s) < 2 {
		t.between = segment{start: at, reader: s[0].reader}
		return
	}
	i := sort.Search(len(s), func(i int) bool { return s[i].ring > at }) - 1
	i = min(max(i, 0), len(s)-2)
	a, b := s[i], s[i+1]
	t.between = segment{a.ring, b.ring, a.reader, float64(b.reader-a.reader) / float64(b.ring-a.ring)}
}
