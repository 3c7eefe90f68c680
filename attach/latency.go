package attach

import (
	"errors"
	"fmt"

	"github.com/go-usdt/usdt/internal/selector"
)

// Latency says how the time from one probe to another is aggregated. The zero
// value takes the time from a start to the next end of the same thread.
type Latency struct {
	// Key are the arguments, which both probes have, or pid, tid or comm, whose
	// values tell which start an end belongs to; nil means the thread. A number
	// that every process counts for itself needs pid beside it.
	Key []string

	// Bounds are those of the histogram's buckets, in nanoseconds; nil means
	// powers of two.
	Bounds []float64
	// By groups as [Aggregation.By] does, by the arguments of the end.
	By        []string
	MaxGroups int

	// MaxPending bounds the starts that wait for their end; 0 means 65536. When
	// there are more, those that have waited long are forgotten, and counted.
	MaxPending int
}

const defaultMaxPending = 64 << 10

// PairStats say what became of starts and ends.
type PairStats struct {
	Pairs     uint64 // ends that found their start
	Restarted uint64 // starts that came before the end of the one before, which has none
	Pending   uint64 // starts that wait for their end
	Evicted   uint64 // starts that were forgotten for want of room
	Dropped   uint64 // starts whose end Options.Where did not want
	Unstarted uint64 // ends without a start, or whose start Options.Where did not want
}

// OpenLatency attaches to the probes that start and end name, and has the
// kernel aggregate the nanoseconds from one to the other. Each [Group] has the
// number of pairs, Sum, Avg, Min, Max and Hist.
//
// Options.Where is tested at those of the probes that have all arguments it
// asks for; an end that it does not want takes its start with it.
//
// In [Stats] both events of a pair are received. Starts and ends that found no
// other half are filtered, and starts that were forgotten lost; see
// [Aggregate.Pairs].
func OpenLatency(start, end string, what *Latency, opts *Options) (*Aggregate, error) {
	o, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	if what == nil {
		what = &Latency{}
	}
	wanted := Aggregation{
		Value: "latency", Sum: true, Avg: true, Min: true, Max: true, Hist: true,
		Bounds: what.Bounds, By: what.By, MaxGroups: what.MaxGroups,
	}
	if err := wanted.check(); err != nil {
		return nil, err
	}
	pairs := &pairLayout{by: what.Key, pending: what.MaxPending}
	if len(pairs.by) == 0 {
		pairs.by = []string{"tid"}
	}
	switch {
	case pairs.pending == 0:
		pairs.pending = defaultMaxPending
	case pairs.pending < 0 || pairs.pending > 1<<24:
		return nil, fmt.Errorf("%w: %d pending starts is not between 0 and %d", ErrAggregation, pairs.pending, 1<<24)
	}
	if pairs.start, err = selector.Parse(start); err != nil {
		return nil, err
	}
	if pairs.end, err = selector.Parse(end); err != nil {
		return nil, err
	}
	selector.Unite(&pairs.start, &pairs.end)
	layout := &aggregateLayout{wanted: wanted, pairs: pairs, value: elapsed}
	return openAggregate([]string{start, end}, &o, layout)
}

// Pairs returns what has become of starts and ends until now. Of an Aggregate
// that is none of latencies it returns an error.
func (a *Aggregate) Pairs() (PairStats, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.layout.pairs == nil {
		return PairStats{}, errors.New("the aggregate is not one of latencies")
	}
	_, err := a.countLocked()
	return a.pairs, err
}
