package attach

import (
	"fmt"
	"slices"

	"github.com/go-usdt/usdt/attach/internal/bind"
)

// Aggregation says what the kernel computes of events instead of recording
// them: attach.Hist("ms").By("path"). The zero value counts them, as Count does.
// An Aggregation does not change: its methods return a new one.
type Aggregation struct {
	wanted bind.Computation
	err    error
}

// Count returns an Aggregation that counts events. All others count them, too.
func Count() Aggregation { return Aggregation{} }

// Sum returns an Aggregation that adds up an argument.
func Sum(arg string) Aggregation { return Aggregation{wanted: bind.Computation{Value: arg, Sum: true}} }

// Avg returns an Aggregation that takes the average of an argument.
func Avg(arg string) Aggregation { return Aggregation{wanted: bind.Computation{Value: arg, Avg: true}} }

// Min returns an Aggregation that keeps the smallest value of an argument.
func Min(arg string) Aggregation { return Aggregation{wanted: bind.Computation{Value: arg, Min: true}} }

// Max returns an Aggregation that keeps the largest value of an argument.
func Max(arg string) Aggregation { return Aggregation{wanted: bind.Computation{Value: arg, Max: true}} }

// Hist returns an Aggregation that counts the values of an argument in the buckets
// of a histogram, whose bounds are powers of two, or those of Bounds.
func Hist(arg string) Aggregation {
	return Aggregation{wanted: bind.Computation{Value: arg, Hist: true}}
}

// And returns an Aggregation that also computes what others compute, of the same
// argument. Call By, Bounds and MaxGroups on the result, not on others.
func (a Aggregation) And(others ...Aggregation) Aggregation {
	for _, b := range others {
		switch {
		case a.err != nil:
		case b.err != nil:
			a.err = b.err
		case a.wanted.Value != "" && b.wanted.Value != "" && a.wanted.Value != b.wanted.Value:
			a.err = fmt.Errorf("%w of two arguments, %s and %s, where one is possible", ErrAggregation, a.wanted.Value, b.wanted.Value)
		case b.wanted.Bounds != nil || b.wanted.By != nil || b.wanted.MaxGroups != 0:
			a.err = fmt.Errorf("%w: the argument of And has Bounds, By or MaxGroups: set them on the result of And", ErrAggregation)
		}
		if a.wanted.Value == "" {
			a.wanted.Value = b.wanted.Value
		}
		a.wanted.Sum, a.wanted.Avg, a.wanted.Min, a.wanted.Max, a.wanted.Hist = a.wanted.Sum || b.wanted.Sum, a.wanted.Avg || b.wanted.Avg, a.wanted.Min || b.wanted.Min, a.wanted.Max || b.wanted.Max, a.wanted.Hist || b.wanted.Hist
	}
	return a
}

// Bounds returns an Aggregation whose histogram has buckets that begin and end at
// bounds: at least two and at most 1001, each greater than the one before; see
// [Linear]. No bounds mean powers of two.
func (a Aggregation) Bounds(bounds ...float64) Aggregation {
	a.wanted.Bounds = slices.Clone(bounds)
	return a
}

// By returns an Aggregation that groups events by arguments, pid, tid, comm or
// probe, in addition to those of earlier calls. A key has at most 512 bytes: a
// number takes 8, comm 16, and text 136, of which the first 120 bytes count. Events
// whose argument cannot be read form a group for each reason, and events whose
// argument lies behind a nil pointer form another.
func (a Aggregation) By(args ...string) Aggregation {
	a.wanted.By = append(slices.Clone(a.wanted.By), args...)
	return a
}

// MaxGroups returns an Aggregation of at most n groups between two calls of Read. 0
// means 8192, or at most 1024 with a histogram. Events of further groups are
// counted as lost. MaxGroups needs By.
func (a Aggregation) MaxGroups(n int) Aggregation {
	a.wanted.MaxGroups = n
	return a
}

// check returns a usage error.
func (a *Aggregation) check() error {
	switch {
	case a.err != nil:
		return a.err
	case a.wanted.Value == "" && (a.wanted.Sum || a.wanted.Avg || a.wanted.Min || a.wanted.Max || a.wanted.Hist):
		return fmt.Errorf("%w: the name of the argument is empty", ErrAggregation)
	case a.wanted.MaxGroups < 0 || a.wanted.MaxGroups > 1<<24:
		return fmt.Errorf("%w: the number of groups, %d, is not between 0 and %d", ErrAggregation, a.wanted.MaxGroups, 1<<24)
	case a.wanted.MaxGroups > 0 && len(a.wanted.By) == 0:
		return fmt.Errorf("%w: MaxGroups is %d, but without By there is one group", ErrAggregation, a.wanted.MaxGroups)
	case a.wanted.Bounds != nil && !a.wanted.Hist:
		return fmt.Errorf("%w: Bounds belong to a histogram, and the aggregation has none", ErrAggregation)
	}
	return checkBounds(a.wanted.Bounds)
}
