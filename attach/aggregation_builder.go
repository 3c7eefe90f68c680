package attach

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/go-usdt/usdt/attach/internal/query"
)

// Aggregation says what is computed from events instead of delivering each one:
// attach.Hist("ms").By("path"). The zero value counts them, as Count does. An Aggregation does not
// change: its methods return a new one.
type Aggregation struct {
	wanted query.Computation
	err    error
}

// Count returns an Aggregation that counts events. All others also count them.
func Count() Aggregation { return Aggregation{} }

// Sum returns an Aggregation that adds up an argument.
func Sum(arg string) Aggregation {
	return Aggregation{wanted: query.Computation{Value: arg, Sum: true}}
}

// Avg returns an Aggregation that takes the average of an argument.
func Avg(arg string) Aggregation {
	return Aggregation{wanted: query.Computation{Value: arg, Avg: true}}
}

// Min returns an Aggregation that keeps the smallest value of an argument.
func Min(arg string) Aggregation {
	return Aggregation{wanted: query.Computation{Value: arg, Min: true}}
}

// Max returns an Aggregation that keeps the largest value of an argument.
func Max(arg string) Aggregation {
	return Aggregation{wanted: query.Computation{Value: arg, Max: true}}
}

// Hist returns an Aggregation that counts the values of an argument in the buckets
// of a histogram, whose bounds are powers of two, or those of Bounds.
func Hist(arg string) Aggregation {
	return Aggregation{wanted: query.Computation{Value: arg, Hist: true}}
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
		a.wanted.Stddev = a.wanted.Stddev || b.wanted.Stddev
		a.wanted.Division = max(a.wanted.Division, b.wanted.Division)
		a.wanted.Quantiles = slices.Concat(a.wanted.Quantiles, b.wanted.Quantiles)
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

// By returns an Aggregation that groups events by arguments, pid, tid, cpu, uid (the user,
// as the initial user namespace counts), comm or probe, in addition to those of earlier
// calls. Arguments that are called cpu or uid come first. A key has at most 512 bytes: a
// number takes 8, comm 16, and text 136, of which the first 120 bytes count. Events whose
// argument cannot be read form a group for each reason, and events whose argument lies
// behind a nil pointer form another.
//
// Keys may be computed, as in conditions of [Options.Where]: "status/100", "size & 4095".
// A division by zero is a reason why a key cannot be read. "path[:16]"
// stands for the first 16 bytes of a text, up to 120. [total.Group.By] names keys as they are
// given, without blanks.
//
// "stack" is the calls that led to the probe, as far as [Options.Stack] says, unless an argument
// is called so: a [*event.Stack], whose frames have names already. The kernel keeps each stack
// once. Stacks of different processes are equal if their frames are, in the same files.
//
// "sql(query)" stands for the statement in a text without its literals, and "cxx(type)" for the
// name of a C++ type as the source has it. A statement made by "sql" takes 256 bytes, of which
// 240 count. Texts of statements are too many for groups of the kernel: with "sql", events are
// recorded and added up here, so that some can be lost.
func (a Aggregation) By(args ...string) Aggregation {
	a.wanted.By = append(slices.Clone(a.wanted.By), args...)
	return a
}

// MaxGroups returns an Aggregation that tells the n groups with the most events apart at each call
// of Read, and adds up the events of all others in one, see [total.Group.Other]. 0 means 8192, at
// most 1024 with a histogram, and 512 with quantiles. If more groups than n, and than these
// numbers, have come since the last call, a group that was added to the others counts anew when it
// comes again. MaxGroups needs By.
func (a Aggregation) MaxGroups(n int) Aggregation {
	a.wanted.MaxGroups = n
	return a
}

// check returns a usage error. It makes keys what groups have as names: they have no blanks.
func (a *Aggregation) check() error {
	a.wanted.By = slices.Clone(a.wanted.By)
	for i, text := range a.wanted.By {
		k, err := query.ParseKey(text)
		if err != nil {
			return cmp.Or(a.err, err)
		}
		a.wanted.By[i] = k.Text
	}
	switch {
	case a.err != nil:
		return a.err
	case a.wanted.Value == "" && (a.wanted.Sum || a.wanted.Avg || a.wanted.Min || a.wanted.Max || a.wanted.Hist || a.wanted.Stddev || a.wanted.Quantiles != nil):
		return fmt.Errorf("%w: the name of the argument is empty", ErrAggregation)
	case a.wanted.MaxGroups < 0 || a.wanted.MaxGroups > 1<<24:
		return fmt.Errorf("%w: the number of groups, %d, is not between 0 and %d", ErrAggregation, a.wanted.MaxGroups, 1<<24)
	case a.wanted.MaxGroups > 0 && len(a.wanted.By) == 0:
		return fmt.Errorf("%w: MaxGroups is %d, but without By there is one group", ErrAggregation, a.wanted.MaxGroups)
	case a.wanted.Bounds != nil && !a.wanted.Hist:
		return fmt.Errorf("%w: Bounds belong to a histogram, and the aggregation has none", ErrAggregation)
	}
	if err := checkQuantiles(a.wanted.Quantiles); err != nil {
		return err
	}
	return checkBounds(a.wanted.Bounds)
}
