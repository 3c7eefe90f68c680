package bind

import (
	"errors"
	"slices"

	"github.com/go-usdt/usdt/attach/internal/query"
)

// ErrAggregation is wrapped by the errors of aggregations that are not possible.
var ErrAggregation = errors.New("aggregation")

// Computation is what is computed of events.
type Computation struct {
	Value                    string // the argument that the following are of
	Sum, Avg, Min, Max, Hist bool
	Stddev                   bool

	Quantiles []float64 // in percent
	Bounds    []float64 // of hist; nil for powers of two
	By        []string  // what events are grouped by
	MaxGroups int       // 0 for the default
}

// Layout is what all sites of an aggregate share: the keys and values of its groups.
// The first site decides the kinds.
type Layout struct {
	Wanted Computation
	Pairs  *PairLayout // nil unless starts and ends are aggregated

	CPUs  int // that the machine may have
	Stack int // the most addresses of a stack by which events are grouped

	Made    bool         // the maps
	Bound   bool         // the following
	Parts   []query.Part // of the first site that has them
	Value   query.Input
	KeySize int
	reasons []error // why parts of keys are missing; their marks begin with markReason
}

// Clone returns a copy that does not change when l is bound to other sites; nil
// of nil.
func (l *Layout) Clone() *Layout {
	if l == nil {
		return nil
	}
	out := *l
	if l.Pairs != nil {
		pairs := *l.Pairs
		out.Pairs = &pairs
	}
	return &out
}

// restore makes l equal to clone.
func (l *Layout) restore(clone *Layout) {
	if l == nil {
		return
	}
	pairs := l.Pairs
	*l = *clone
	if pairs != nil {
		*pairs = *clone.Pairs
		l.Pairs = pairs
	}
}

// ByStack reports whether groups are told apart by stack, unless an argument is called so.
func (c *Computation) ByStack() bool { return slices.Contains(c.By, Stack) }

// Values returns the sums that make what is computed.
func (c *Computation) Values() query.Values {
	return query.Values{
		Value: c.Value != "", Sum: c.Sum || c.Avg || c.Stddev, Min: c.Min, Max: c.Max, Hist: c.Hist,
		Squares: c.Stddev, Fine: len(c.Quantiles) > 0, Bounds: len(c.Bounds),
	}
}

// Words returns the number of 8-byte words in the value of a group. With quantiles it
// depends on the kind of the value, which the first site decides.
func (l *Layout) Words() int {
	values := l.Wanted.Values()
	return values.Words(l.Value.Kind)
}

// OnlyCounts reports whether nothing is asked for but the number of all events; see
// query.Aggregate.
func (l *Layout) OnlyCounts() bool {
	return l.Pairs == nil && len(l.Wanted.By) == 0 && l.Wanted.Value == ""
}

// StackPart returns the part of keys that is a stack's hash, nil if there is none.
func (l *Layout) StackPart() *query.Part {
	return (&query.Aggregate{Parts: l.Parts}).StackPart()
}

// MaxGroups returns how many groups are told apart when they are read.
func (l *Layout) MaxGroups() int {
	if l.Wanted.MaxGroups != 0 {
		return l.Wanted.MaxGroups
	}
	return l.defaultGroups()
}

// Room returns how many groups are told apart until they are read. Which of them are the
// most used is known then.
func (l *Layout) Room() int { return max(l.MaxGroups(), l.defaultGroups()) }

func (l *Layout) defaultGroups() int {
	switch {
	case len(l.Wanted.Quantiles) > 0:
		return 512 // 8 MB and more
	case !l.Wanted.Hist:
		return 8192
	}
	return min(1024, max(64, 1024*(query.WordHist+query.HistBuckets)/l.Words()))
}

// sharedBytes is the total size of groups, on all CPUs, beyond which CPUs share
// them.
const sharedBytes = 64 << 20

// Shared reports whether the CPUs share the groups. With groups of their own,
// CPUs do not wait for each other, but the kernel keeps room for each group on
// every possible CPU: for histograms 0.4 GB on a machine of 256.
func (l *Layout) Shared() bool {
	return (l.Wanted.Hist || len(l.Wanted.Quantiles) > 0) && l.KeySize > 0 && 2*l.Room()*8*l.Words()*l.CPUs > sharedBytes
}
