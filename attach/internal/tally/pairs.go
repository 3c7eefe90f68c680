package tally

import (
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/internal/record"
)

// Match matches a record of a signature whose pairs are recorded. If the record is that of
// an end, and the pair took longer than it has to, Match returns the record of its start,
// which is the caller's, and the nanoseconds between them.
func (t *Tally) Match(sig *query.Signature, rec record.Record) (start record.Record, elapsed uint64, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	agg := sig.Aggregate
	switch {
	case !t.reading.set(sig, rec):
		t.counts.Lost++
		return nil, 0, false
	case agg.Role == query.RoleStart:
		t.start()
		return nil, 0, false
	}
	kept, ok := t.match()
	if !ok {
		return nil, 0, false
	}
	elapsed = t.reading.elapsed
	if t.Times != nil {
		t.Times[query.WordCount]++
		t.Times[query.WordSum] += elapsed
		t.Times[query.WordHist+query.PowerRank(elapsed, query.Elapsed.Kind)]++
	}
	if agg.Slower > 0 && elapsed <= agg.Slower {
		t.counts.Fast++
		return nil, 0, false
	}
	return append(record.Record(nil), kept...), elapsed, true
}

// ReadTimes calls add with the words of Times.
func (t *Tally) ReadTimes(add func(key string, words []uint64)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.Times != nil {
		add("", t.Times)
	}
}

// EachWaiting calls do with the time of each start that waits, and with a copy of its record, until do
// returns an error. Starts that do not pass the condition are left out.
func (t *Tally) EachWaiting(do func(at uint64, rec record.Record) error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range t.starts.keys {
		for _, s := range e.Value.(*waiting).slots {
			if !s.waits || s.unwanted {
				continue
			}
			if err := do(s.at, append(record.Record(nil), s.kept...)); err != nil {
				return err
			}
		}
	}
	return nil
}
