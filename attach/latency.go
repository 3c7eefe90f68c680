package attach

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-usdt/usdt/internal/selector"
)

// Latency says how the time from one probe to another is aggregated. An end
// belongs to the last start of its key that has none yet, as the return from a
// function belongs to its last call. The zero value matches by what carries the
// code: the goroutine where both probes are Go's, a call where they are the entry of
// a function and the return from it, and the thread otherwise. Open returns an
// error if that is not known, as for probes of Go programs that do not say in
// which goroutine they fire.
type Latency struct {
	// Key are the arguments, which both probes have, or pid, tid or comm, whose
	// values tell which start an end belongs to. They are those of one process,
	// unless machine is among them.
	Key []string

	// Bounds are those of the histogram's buckets, in nanoseconds; nil means
	// powers of two.
	Bounds []float64
	// By groups as [Aggregation.By] does, by the arguments of the end or, where it
	// has none of that name, of the start.
	By        []string
	MaxGroups int

	// MaxPending bounds the keys of which starts wait for their ends; 0 means
	// 65536. When there are more, those that have waited long are forgotten, and
	// counted.
	MaxPending int
}

const defaultMaxPending = 64 << 10

// PairStats say what became of starts and ends. What skips an end leaves a start
// that waits: a thread or goroutine that is over, an exception, longjmp. It is
// below those that follow, which find their ends, until there are [MaxNesting] of
// its key.
type PairStats struct {
	Pairs     uint64 // ends that found their start
	Dropped   uint64 // starts that found their end, in a pair that Options.Where does not want
	Pending   uint64 // starts that wait for their end
	TooDeep   uint64 // starts that were forgotten since MaxNesting others of their key followed
	Evicted   uint64 // starts that were forgotten for want of room
	Unstarted uint64 // ends without a start
}

// OpenLatency attaches to the probes that start and end name, and has the
// kernel aggregate the nanoseconds from one to the other. Each [Group] has the
// number of pairs, Sum, Avg, Min, Max and Hist.
//
// Of Options.Where each of the conditions between && is tested at those of the
// probes that have all that it asks for. A pair is wanted if both its start and
// its end are; what is not wanted is matched all the same.
//
// In [Stats] both events of a pair are received. Starts and ends that found no
// other half, or are not wanted, are filtered, and starts that were forgotten
// lost; see [Aggregate.Pairs].
func OpenLatency(ctx context.Context, start, end string, what *Latency, opts *Options) (*Aggregate, error) {
	if err := usable(ctx); err != nil {
		return nil, err
	}
	o, err := opts.used()
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
	pairs := &pairLayout{pending: what.MaxPending}
	if pairs.key, err = keyNames(what.Key); err != nil {
		return nil, err
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
	return openAggregate(ctx, []string{start, end}, o, layout)
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
