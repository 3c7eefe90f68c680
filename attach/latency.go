package attach

import (
	"context"
	"fmt"
	"time"

	"github.com/go-usdt/usdt/attach/internal/bind"
	"github.com/go-usdt/usdt/attach/internal/query"
)

// LatencyOptions say how the time from one probe to another is aggregated. An end
// belongs to the last start of its key that has none yet, as the return from a
// function belongs to its last call. The zero value matches by what runs the
// code: the goroutine if both probes are Go's, the call if they are the entry of
// a function and the return from it, and the thread otherwise. OpenLatency
// returns an error if the goroutine is not known, as for probes of Go programs
// that do not say in which goroutine they fire.
type LatencyOptions struct {
	// Key names arguments that both probes have, or pid, tid, cpu, uid, comm, cgroup, container or pod, or
	// computes keys as [Aggregation.By] does. A start and an end of one process belong
	// together if these values are equal. If "machine" is among them, they may be of
	// different processes.
	Key []string

	// Flat says that starts of a key do not nest: a later one takes the place of the one that
	// waits, as where an error skips ends, or a program says several times what it does now.
	Flat bool

	// Bounds are the limits of the histogram's buckets in nanoseconds, see
	// [Aggregation.Bounds]; nil means powers of two.
	Bounds []float64
	// Scale divides powers of two in a histogram without Bounds, see [Aggregation.Scale].
	Scale int
	// Also is computed in addition, of the argument "latency":
	// Stddev("latency").And(Quantiles("latency", 50, 99)).
	Also Aggregation
	// By groups as [Aggregation.By] does, by the arguments of the end or, where it
	// has none of that name, of the start. The stack is the end's.
	By []string
	// MaxGroups bounds the groups, see [Aggregation.MaxGroups].
	MaxGroups int

	// Interval divides the latency of recordings, see [Aggregation.Interval].
	Interval time.Duration

	// MaxPending bounds the keys whose starts wait for their ends; 0 means 65536.
	// When there are more, the ones that have waited longest are forgotten, and
	// counted. Calls of functions that the kernel matches itself are never forgotten
	// (Linux 6.10 for its own, 6.13 for programs').
	MaxPending int

	// RingSize is that of [Aggregation.RingSize].
	RingSize int
}

const defaultMaxPending = 64 << 10

// PairStats say what became of starts and ends. A thread or goroutine that ends,
// an exception or a longjmp skips an end and leaves its start waiting. Later
// starts of the same key find their ends all the same; the waiting start is
// forgotten when 32 of its key have followed.
type PairStats struct {
	Pairs     uint64 // ends that found their start
	Dropped   uint64 // starts that found their end, in a pair that does not pass Options.Where
	Pending   uint64 // starts that wait for their end
	TooDeep   uint64 // starts that were forgotten because 32 others of their key followed
	Replaced  uint64 // starts whose place a later one of their key took, see LatencyOptions.Flat
	Evicted   uint64 // starts that were forgotten because too many were waiting
	Unstarted uint64 // ends without a start
	Fast      uint64 // part of Pairs: pairs that PairOptions.Slower leaves out
	Torn      uint64 // pairs, or starts, that were left out since others between may be unseen or lost
}

// Latency is two sets of probes, starts and ends. The time between them is added up,
// as an [Aggregate] is.
type Latency struct{ totals }

// OpenLatency attaches to the probes that start and end name, and adds up the
// nanoseconds from one to the other. Each [total.Group] has the
// number of pairs, Sum, Avg, Min, Max and Hist.
//
// Each condition between && of Options.Where is tested at the probes that have all
// of its arguments. A pair counts if both its start and its end pass. Starts and
// ends that do not pass are matched all the same.
//
// Events that fire before all sites are attached to are left out, as are events that fire once
// sites are being left: each pair was seen in full. Sites that are found later begin together.
// Starts that wait in their processes then are left out: later starts may have fired there unseen,
// to which the next ends belong.
//
// what and opts may be nil. In [Stats] both events of a pair are received. Starts
// and ends without a partner, or that did not pass, are filtered, and forgotten
// starts are lost; see [Latency.Pairs].
func OpenLatency(ctx context.Context, start, end string, what *LatencyOptions, opts *Options) (*Latency, error) {
	if what == nil {
		what = &LatencyOptions{}
	}
	o, err := opts.ofTotals(ctx, what.By, what.Interval, what.RingSize)
	if err != nil {
		return nil, err
	}
	return openLatency(ctx, start, end, what, o)
}

func openLatency(ctx context.Context, start, end string, what *LatencyOptions, o *settings) (_ *Latency, err error) {
	if what == nil {
		what = &LatencyOptions{}
	}
	wanted, err := what.aggregation()
	if err != nil {
		return nil, err
	}
	pending := what.MaxPending
	if pending == 0 {
		pending = defaultMaxPending
	}
	pairs, err := pairLayout(start, end, what.Key, what.Flat, pending)
	if err != nil {
		return nil, err
	}
	return openBy(o, func(l *Latency, o *settings) error {
		pairs := *pairs
		return l.open(ctx, []string{start, end}, o, &bind.Layout{Layout: query.Layout{Wanted: wanted.wanted, Value: query.Elapsed}, Pairs: &pairs})
	})
}

// aggregation returns what is computed, checked.
func (o *LatencyOptions) aggregation() (Aggregation, error) {
	wanted := Hist("latency").And(Sum("latency"), Avg("latency"), Min("latency"), Max("latency"), o.Also)
	wanted.scale = o.Scale
	wanted.wanted.Bounds, wanted.wanted.By, wanted.wanted.MaxGroups = o.Bounds, o.By, o.MaxGroups
	return wanted, optionError(wanted.check())
}

// Validate checks the options without looking at probes. The error is an [*OptionError]; about what is
// computed, it wraps [ErrAggregation]. o may be nil.
func (o *LatencyOptions) Validate() error {
	if o == nil {
		return nil
	}
	if _, err := o.aggregation(); err != nil {
		return err
	}
	if o.Interval < 0 {
		return &OptionError{"Interval", fmt.Errorf("%v is negative", o.Interval)}
	}
	return (&PairOptions{Key: o.Key, MaxPending: o.MaxPending, RingSize: o.RingSize}).Validate()
}

// Pairs returns what became of starts and ends until now.
func (l *Latency) Pairs() (PairStats, error) {
	_, err := l.Stats()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.pairs, err
}
