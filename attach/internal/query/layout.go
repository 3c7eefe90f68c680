package query

import "github.com/go-usdt/usdt/reader"

// Layout is what all sites of an aggregate share: the keys and values of its groups.
type Layout struct {
	Wanted Computation

	Groups Groups // names the control groups in keys

	CPUs  int // that the machine may have
	Stack int // the most addresses of a stack by which events are grouped

	Made    bool   // the maps
	Bound   bool   // the following
	Parts   []Part // of the first site that has them
	Value   Input
	KeySize int
}

// Words returns the number of 8-byte words in the value of a group. With quantiles it
// depends on the kind of the value, which the first site decides.
func (l *Layout) Words() int {
	values := l.Wanted.Values()
	return values.Words(l.Value.Kind)
}

// StackPart returns the part of keys that is a stack's hash, nil if there is none.
func (l *Layout) StackPart() *Part {
	return (&Aggregate{Parts: l.Parts}).StackPart()
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
	return min(1024, max(64, 1024*(WordHist+FractionBuckets(reader.Float, 0))/l.Words()))
}

// sharedBytes is the total size of groups, on all CPUs, beyond which CPUs share
// them.
const sharedBytes = 96 << 20

// Shared reports whether the CPUs share the groups. With groups of their own,
// CPUs do not wait for each other, but the kernel keeps room for each group on
// every possible CPU: for histograms 0.4 GB on a machine of 256.
func (l *Layout) Shared() bool {
	return (l.Wanted.Hist || len(l.Wanted.Quantiles) > 0) && l.KeySize > 0 && 2*l.Room()*8*l.Words()*l.CPUs > sharedBytes
}
