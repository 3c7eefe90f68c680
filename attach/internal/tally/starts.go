package tally

import (
	"container/list"
	"slices"

	"github.com/go-usdt/usdt/attach/internal/query"
)

// maxWaiting is how many starts of one key may wait for their ends at a time.
const maxWaiting = len(query.Starts{}) - 1

// starts are the starts that wait for their ends. The zero value has none.
type starts struct {
	keys    map[string]*list.Element
	recent  *list.List // of *waiting: the key used last comes first
	pending uint64     // starts that wait
}

// waiting are the starts of a key that wait, each in the slot of its number modulo
// maxWaiting. There are as many slots as there have been starts at a time.
type waiting struct {
	key    string
	number uint64 // of the next start
	slots  []start
}

// slot returns the slot of a number, which may be one more than the last slot's.
func (w *waiting) slot(number uint64) *start {
	i := int(number % uint64(maxWaiting))
	if i == len(w.slots) {
		w.slots = append(w.slots, start{})
	}
	return &w.slots[i]
}

type start struct {
	waits, unwanted bool
	at              uint64
	kept            []byte
}

// of returns the starts of a key; nil if there are none.
func (s *starts) of(key []byte) *waiting {
	e := s.keys[string(key)]
	if e == nil {
		return nil
	}
	s.recent.MoveToFront(e)
	return e.Value.(*waiting)
}

// add returns the starts of a new key.
func (s *starts) add(key []byte) *waiting {
	if s.keys == nil {
		s.keys, s.recent = map[string]*list.Element{}, list.New()
	}
	w := &waiting{key: string(key)}
	s.keys[w.key] = s.recent.PushFront(w)
	return w
}

// remove forgets a key, and returns how many of its starts were waiting.
func (s *starts) remove(w *waiting) (n uint64) {
	for i := range w.slots {
		if w.slots[i].waits {
			n++
		}
	}
	s.recent.Remove(s.keys[w.key])
	delete(s.keys, w.key)
	s.pending -= n
	return n
}

// start notes when the event that is being read fired, on top of the starts of its key
// that have not ended. A start that does not pass the condition is also kept, so that its end
// does not take another's start.
func (t *Tally) start() {
	r, agg := &t.reading, t.reading.sig.Aggregate
	key := t.buffer(agg.PairSize)
	if agg.Missing() || !r.pairKey(key) {
		t.counts.Lost++
		return
	}
	w := t.starts.of(key)
	if w == nil {
		if len(t.starts.keys) >= t.pending {
			t.counts.Evicted += t.starts.remove(t.starts.recent.Back().Value.(*waiting))
		}
		w = t.starts.add(key)
	}
	if agg.Flat {
		w.number = 0
	}
	s := w.slot(w.number)
	w.number++
	switch {
	case !s.waits:
		t.starts.pending++
	case agg.Flat:
		t.counts.Replaced++
	default:
		t.counts.TooDeep++
	}
	*s = start{waits: true, unwanted: t.unwanted(), at: r.rec.Time(), kept: s.kept}
	switch {
	case agg.Whole:
		s.kept = append(s.kept[:0], r.rec...)
	case agg.StartArgs > 0:
		s.kept = slices.Grow(s.kept[:0], agg.StartArgs)[:agg.StartArgs]
		clear(s.kept)
		r.groupKey(s.kept)
	}
	t.counts.Started++
}

// end takes the start of the event that is being read, and adds the time since to a group.
func (t *Tally) end() {
	kept, ok := t.match()
	if !ok {
		return
	}
	agg := t.reading.sig.Aggregate
	group := t.buffer(agg.KeySize)
	recall(agg, group, kept)
	t.add(group)
}

// match takes the last start of the key of the event that is being read, unless one of the
// two does not pass the condition, or events between them may be lost. It returns what the
// start has kept.
func (t *Tally) match() (kept []byte, ok bool) {
	r, agg := &t.reading, t.reading.sig.Aggregate
	key := t.buffer(agg.PairSize)
	if agg.Missing() || !r.pairKey(key) {
		t.counts.Lost++
		return nil, false
	}
	w := t.starts.of(key)
	if w == nil || w.number == 0 {
		t.counts.Unstarted++
		return nil, false
	}
	w.number--
	slot := w.slot(w.number)
	s := *slot
	if slot.waits = false; s.waits {
		t.starts.pending--
	}
	if w.number == 0 && !agg.Lasting {
		t.starts.remove(w)
	}
	switch {
	case !s.waits: // more nested than there is room for
		t.counts.Unstarted++
		return nil, false
	case s.unwanted || t.unwanted():
		t.counts.Dropped++
		t.counts.Filtered++
		return nil, false
	case t.Torn != nil && t.Torn(s.at, r.rec.Time(), r.rec.PID()):
		t.counts.Torn++
		t.counts.Filtered++
		return nil, false
	}
	t.counts.Matched++
	r.elapsed = 0
	if now := r.rec.Time(); now > s.at {
		r.elapsed = now - s.at
	}
	return s.kept, true
}

// recall copies what a start has kept, with its marks, into the key of a group.
func recall(agg *query.Aggregate, key, kept []byte) {
	if agg.StartArgs == 0 {
		return
	}
	var from []int
	for i := range agg.Parts {
		if part := &agg.Parts[i]; part.In.Source == query.InputStart {
			from = append(from, i)
			copy(key[part.Offset:part.Offset+part.Size], kept[part.In.Offset:])
		}
	}
	if agg.Marks > 0 {
		for j, i := range from {
			setMark(key[agg.Marks:], i, query.MarkIn(kept, len(from), j))
		}
	}
}

// unwanted reports whether the event that is being read does not pass.
func (t *Tally) unwanted() bool {
	if t.reading.passes() {
		return false
	}
	t.reading.noteFault(&t.Faults)
	return true
}
