package bind

import (
	"errors"

	"github.com/go-usdt/usdt/attach/internal/codegen"
)

// ErrAggregation is wrapped by the errors of aggregations that are not possible.
var ErrAggregation = errors.New("aggregation")

// Computation is what is computed of events.
type Computation struct {
	Value                    string // the argument that the following are of
	Sum, Avg, Min, Max, Hist bool

	Bounds    []float64 // of hist; nil for powers of two
	By        []string  // what events are grouped by
	MaxGroups int       // 0 for the default
}

// Layout is what all sites of an aggregate share: the keys and values of its groups.
// The first site decides the kinds.
type Layout struct {
	Wanted Computation
	Pairs  *PairLayout // nil unless starts and ends are aggregated

	CPUs int // that the machine may have

	Made    bool           // the maps
	Bound   bool           // the following
	Parts   []codegen.Part // of the first site that has them
	Value   codegen.Input
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

// Words returns the number of 8-byte words in the value of a group.
func (l *Layout) Words() int {
	switch {
	case !l.Wanted.Hist:
		return codegen.WordHist
	case l.Wanted.Bounds != nil:
		return codegen.WordHist + len(l.Wanted.Bounds) + 1
	}
	return codegen.WordHist + codegen.HistBuckets
}

// MaxGroups returns the number of groups that there is room for.
func (l *Layout) MaxGroups() int {
	switch {
	case l.Wanted.MaxGroups != 0:
		return l.Wanted.MaxGroups
	case !l.Wanted.Hist:
		return 8192
	}
	return min(1024, max(64, 1024*(codegen.WordHist+codegen.HistBuckets)/l.Words()))
}

// sharedBytes is the total size of groups, on all CPUs, beyond which CPUs share
// them.
const sharedBytes = 64 << 20

// Shared reports whether the CPUs share the groups. With groups of their own,
// CPUs do not wait for each other, but the kernel keeps room for each group on
// every possible CPU: for histograms 0.4 GB on a machine of 256.
func (l *Layout) Shared() bool {
	return l.Wanted.Hist && l.KeySize > 0 && 2*l.MaxGroups()*8*l.Words()*l.CPUs > sharedBytes
}
