package bind

import "github.com/go-usdt/usdt/attach/internal/query"

// Layout is what all sites of an aggregate share, and what the first of them decide.
type Layout struct {
	query.Layout
	Pairs   *PairLayout // nil unless starts and ends are aggregated
	reasons []error     // why parts of keys are missing; their marks begin with MarkReason
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

// OnlyCounts reports whether nothing is asked for but the number of all events; see
// query.Aggregate.
func (l *Layout) OnlyCounts() bool {
	return l.Pairs == nil && len(l.Wanted.By) == 0 && l.Wanted.Value == ""
}
