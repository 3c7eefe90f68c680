package attach

import (
	"github.com/go-usdt/usdt/attach/internal/codegen"
)

// Stats counts the events of a session. While the session is attached the numbers
// are a snapshot; once Events has ended or Close was called, Fired = Received +
// Lost + Filtered + Missed + Unread holds exactly.
type Stats struct {
	Fired    uint64 // by all attached sites
	Received uint64 // delivered by Events, or counted in the groups that Read returned
	Lost     uint64 // dropped: the ring buffer or the groups were full, or an argument to aggregate could not be read
	Filtered uint64 // did not pass Options.Where
	Missed   uint64 // suppressed by the kernel to prevent recursion
	Unread   uint64 // recorded, but not received before Close

	Unmatched uint64 // part of Filtered: starts and ends of a latency without a partner
}

// Stats returns the numbers of events until now.
func (t *tracing) Stats() (Stats, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.countLocked()
}

func (t *tracing) countLocked() (Stats, error) {
	if t.closed {
		return t.final, nil
	}
	// Read Received first: received events have fired before, so the result never
	// shows more received than fired.
	received := t.received.Load()
	count := t.countPrograms
	if t.source != nil {
		count = t.source.counts
	}
	st, err := count()
	st.Received += received
	st.Unread = t.unread.Load()
	return st, err
}

// countPrograms returns the numbers that programs have counted.
func (t *tracing) countPrograms() (st Stats, err error) {
	c, err := t.maps.count()
	if err != nil {
		return st, err
	}
	if st.Missed, err = t.progs.countMissed(); err != nil {
		return st, err
	}
	st.Fired = c.at(codegen.CounterFired) + st.Missed
	st.Lost = c.at(codegen.CounterLost)
	st.Filtered = c.at(codegen.CounterFiltered)
	if t.layout != nil && t.layout.Pairs != nil {
		p, err := t.maps.pairs(&c)
		if err != nil {
			return st, err
		}
		st.Received = p.Pairs
		st.Lost += p.Evicted + p.TooDeep
		st.Filtered += p.Dropped + p.Pending + p.Unstarted
		st.Unmatched = p.Pending + p.Unstarted
		t.pairs = p
	}
	return st, nil
}

// finishLocked fixes the statistics before maps and programs are released.
func (t *tracing) finishLocked() error {
	st, err := t.countLocked()
	t.final, t.closed = st, true
	return err
}
