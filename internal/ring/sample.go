package ring

import "sync/atomic"

// counters has a counter for each P, in a line of its own. A P adds to its own without
// an atomic instruction, which would take longer than all else that leaving an event out
// takes.
type counters [countersOfPs]struct {
	n uint64
	_ [line - 8]byte
}

// Sample chooses one in N events: on each P the first of N. Ps that have no counter to
// themselves share one.
type Sample struct {
	_      [0]func() // without a function that compares two
	n      uint64
	own    counters
	shared atomic.Uint64
}

// NewSample returns a Sample of one in n.
func NewSample(n uint32) *Sample { return &Sample{n: uint64(n)} }

// Take reports whether an event is chosen.
func (s *Sample) Take() bool {
	var n uint64
	if p := pin(); p < len(s.own) {
		n = increment(&s.own[p].n)
	} else {
		n = s.shared.Add(1)
	}
	unpin()
	return (n-1)%s.n == 0
}
