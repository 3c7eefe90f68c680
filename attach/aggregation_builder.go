package attach

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/internal/printable"
)

// Aggregation says what is computed from events instead of delivering each one:
// attach.Hist("ms").By("path"). The zero value counts them, as Count does. An Aggregation does not
// change: its methods return a new one.
type Aggregation struct {
	wanted   query.Computation
	interval time.Duration
	scale    int // of the histogram
	ringSize int
	err      error
}

// Count returns an Aggregation that counts events. All others also count them.
func Count() Aggregation { return Aggregation{} }

// Sum returns an Aggregation that adds up an argument.
func Sum(arg string) Aggregation { return function(arg, query.Sum) }

// Avg returns an Aggregation that takes the average of an argument.
func Avg(arg string) Aggregation { return function(arg, query.Avg) }

// Min returns an Aggregation that keeps the smallest value of an argument.
func Min(arg string) Aggregation { return function(arg, query.Min) }

// Max returns an Aggregation that keeps the largest value of an argument.
func Max(arg string) Aggregation { return function(arg, query.Max) }

// Stddev returns an Aggregation that takes the standard deviation of an argument.
func Stddev(arg string) Aggregation { return function(arg, query.Stddev) }

func function(arg string, f query.Function) Aggregation {
	return Aggregation{wanted: query.Computation{Value: arg, Functions: query.Of(f)}}
}

// Hist returns an Aggregation that counts the values of an argument in the buckets
// of a histogram, whose bounds are powers of two, or follow Scale or Bounds.
func Hist(arg string) Aggregation {
	return Aggregation{wanted: query.Computation{Value: arg, Hist: true}}
}

// And returns an Aggregation that also computes what others compute, of the same
// argument. Call By, Bounds, Scale, MaxGroups, RingSize and Interval on the result, not on others.
func (a Aggregation) And(others ...Aggregation) Aggregation {
	for _, b := range others {
		switch {
		case a.err != nil:
		case b.err != nil:
			a.err = b.err
		case a.wanted.Value != "" && b.wanted.Value != "" && a.wanted.Value != b.wanted.Value:
			a.err = fmt.Errorf("%w of two arguments, %s and %s, where one is possible", ErrAggregation, a.wanted.Value, b.wanted.Value)
		case b.wanted.Bounds != nil || b.wanted.By != nil || b.wanted.MaxGroups != 0 || b.interval != 0 || b.scale != 0 || b.ringSize != 0:
			a.err = fmt.Errorf("%w: the argument of And has Bounds, Scale, By, MaxGroups, RingSize or Interval: set them on the result of And", ErrAggregation)
		}
		if a.wanted.Value == "" {
			a.wanted.Value = b.wanted.Value
		}
		a.wanted.Functions |= b.wanted.Functions
		a.wanted.Hist = a.wanted.Hist || b.wanted.Hist
		a.wanted.Quantiles = slices.Concat(a.wanted.Quantiles, b.wanted.Quantiles)
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

// MaxScale is the greatest scale of a histogram, see [Aggregation.Scale].
const MaxScale = query.MaxScale

// Scale returns an Aggregation whose histogram divides each power of two into 2^scale buckets, which
// begin at 2^(k/2^scale), as in exponential histograms of OpenTelemetry and native histograms of
// Prometheus. 0, without Scale, means powers of two. A group takes 0.8 kB times 2^scale for each CPU.
func (a Aggregation) Scale(scale int) Aggregation {
	a.scale = scale
	return a
}

// By returns an Aggregation that groups events by arguments, pid, tid, cpu, uid (the user,
// as the initial user namespace counts), comm, cgroup, container, pod or probe, in addition to those
// of earlier calls; [event.Event.Cgroup] says what the names of control groups are. Arguments that
// are called cpu, uid, cgroup, container or pod come first. A key has at most 512 bytes: a
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
// "sql(query)" stands for the statement in a text without its literals, "word(request)" for the
// first word of a text, and "cxx(type)" for the name of a C++ type as the source has it. A text
// made by "sql" or "word" takes 256 bytes, of which 240 count. Statements are too many for groups
// of the kernel: with "sql" and "word", events are recorded and added up here, so that some can be
// lost.
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

// RingSize returns an Aggregation with a buffer of that many bytes between the kernel and this program,
// see [EventOptions], for events that are recorded and added up here: by stack with [Options.Unwind],
// and by "sql" and "word".
func (a Aggregation) RingSize(bytes int) Aggregation {
	a.ringSize = bytes
	return a
}

// Interval returns an Aggregation of [Target.Recordings] that is divided by the time at which
// events fired: each group belongs to one interval, and [total.Group.At] says to which. Intervals
// begin at whole multiples of d; an interval without events has no groups. 0 means one interval for
// all. Live events are divided by when they are read.
func (a Aggregation) Interval(d time.Duration) Aggregation {
	a.interval = d
	return a
}

// Validate checks the aggregation without looking at probes. The error wraps [ErrAggregation]; where one
// method sets what is wrong, it is an [*OptionError] with the name of that.
func (a Aggregation) Validate() error {
	option, err := a.check()
	if option == "" {
		return err
	}
	return optionError(option, err)
}

// check returns a usage error, and what it is about. It makes keys what groups have as names: they
// have no blanks.
func (a *Aggregation) check() (option string, err error) {
	a.wanted.By = slices.Clone(a.wanted.By)
	for i, text := range a.wanted.By {
		k, err := query.ParseKey(text)
		if err != nil {
			return "By", cmp.Or(a.err, err)
		}
		a.wanted.By[i] = k.Text
	}
	switch {
	case a.err != nil:
		return "", a.err
	case a.wanted.Value == "" && (a.wanted.Functions != 0 || a.wanted.Hist || a.wanted.Quantiles != nil):
		return "", fmt.Errorf("%w: the name of the argument is empty", ErrAggregation)
	case a.wanted.MaxGroups < 0 || a.wanted.MaxGroups > 1<<24:
		return "MaxGroups", fmt.Errorf("%w: the number of groups, %d, is not between 0 and %d", ErrAggregation, a.wanted.MaxGroups, 1<<24)
	case a.wanted.MaxGroups > 0 && len(a.wanted.By) == 0:
		return "MaxGroups", fmt.Errorf("%w: MaxGroups is %d, but without By there is one group", ErrAggregation, a.wanted.MaxGroups)
	case a.wanted.Bounds != nil && !a.wanted.Hist:
		return "Bounds", fmt.Errorf("%w: Bounds belong to a histogram, and the aggregation has none", ErrAggregation)
	case a.scale < 0 || a.scale > MaxScale:
		return "Scale", fmt.Errorf("%w: the scale of a histogram, %d, is not between 0 and %d", ErrAggregation, a.scale, MaxScale)
	case a.scale > 0 && (a.wanted.Bounds != nil || !a.wanted.Hist):
		return "Scale", fmt.Errorf("%w: Scale belongs to a histogram without Bounds", ErrAggregation)
	}
	a.wanted.Division = query.ByScale(a.scale)
	if err := checkQuantiles(a.wanted.Quantiles); err != nil {
		return "Quantiles", err
	}
	return "Bounds", checkBounds(a.wanted.Bounds)
}

// Quantiles returns an Aggregation that takes quantiles of an argument, in percent: 50 is
// the median, 99.9 the value that one in a thousand exceeds. The exact quantile is the
// least value that at least so many percent of all values do not exceed.
//
// Values are counted in buckets, 32 from one power of two to the next. A quantile is the
// middle of its bucket, and at most 1/64 of the exact value, 1.6 %, away from that;
// integers from -63 to 63 are exact. Floating-point numbers closer to zero than 2^-30
// count as zero, and those from 2^32 on, 4.3e9, as 2^32. A group takes 16 kB for each CPU
// if the numbers are unsigned, and 32 kB if not.
func Quantiles(arg string, percents ...float64) Aggregation {
	return Aggregation{wanted: query.Computation{Value: arg, Quantiles: append([]float64{}, percents...)}}
}

// checkQuantiles returns a usage error.
func checkQuantiles(percents []float64) error {
	if percents != nil && len(percents) == 0 {
		return fmt.Errorf("%w: no quantile is named, such as 99 for 99 %%", ErrAggregation)
	}
	for i, p := range percents {
		switch {
		case !(p >= 0 && p <= 100):
			return fmt.Errorf("%w: the quantile %s is not between 0 and 100 %%", ErrAggregation, plain(p))
		case slices.Contains(percents[:i], p):
			return fmt.Errorf("%w: the quantile %s is named twice", ErrAggregation, plain(p))
		}
	}
	return nil
}

// maxBounds is the number of bounds that a histogram can have.
const maxBounds = 1001

// Linear returns the bounds of buckets from lo to hi that are step wide. The last
// bucket is narrower if step does not divide the range.
func Linear(lo, hi, step float64) ([]float64, error) {
	if !(step > 0) || !(lo < hi) || math.IsInf(hi-lo, 0) || math.IsInf(step, 0) {
		return nil, fmt.Errorf("%w: buckets from %s to %s by %s: want LO < HI and a positive step", ErrAggregation, plain(lo), plain(hi), plain(step))
	}
	// The rounding error of a step makes no bucket: 0.1 to 0.4 by 0.1 are three.
	n := max(1, math.Ceil((hi-lo)/step-1e-9))
	if n > maxBounds-1 {
		return nil, fmt.Errorf("%w: from %s to %s by %s are %.0f buckets, at most %d are possible", ErrAggregation, plain(lo), plain(hi), plain(step), n, maxBounds-1)
	}
	bounds := make([]float64, 0, int(n)+1)
	for i := range int(n) {
		bounds = append(bounds, lo+float64(i)*step)
	}
	return append(bounds, hi), nil
}

func plain(f float64) string { return string(printable.AppendFloat(nil, f)) }

// checkBounds returns a usage error.
func checkBounds(bounds []float64) error {
	if bounds == nil {
		return nil
	}
	if len(bounds) < 2 || len(bounds) > maxBounds {
		return fmt.Errorf("%w: a histogram has 2 to %d bounds, not %d", ErrAggregation, maxBounds, len(bounds))
	}
	for i, b := range bounds {
		if math.IsNaN(b) || math.IsInf(b, 0) || i > 0 && b <= bounds[i-1] {
			return fmt.Errorf("%w: the bound %s of a histogram is not a number greater than the one before", ErrAggregation, plain(b))
		}
	}
	return nil
}
