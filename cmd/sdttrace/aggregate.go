package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/go-usdt/usdt/attach"
)

// aggregateFlags are the flags that make the kernel aggregate.
type aggregateFlags struct {
	count                    bool
	sum, avg, min, max, hist string
	stddev, lhist, latency   string
	quantiles                []float64
	key, by                  []string
	interval                 time.Duration
	maxGroups                int
	bounds                   []float64 // of --lhist
	value                    string    // the argument that is aggregated; empty to count
	order                    orderFlags
	slower                   threshold
}

func (f *aggregateFlags) register(flags *pflag.FlagSet) {
	flags.BoolVar(&f.count, "count", false, "count events instead of printing them")
	flags.StringVar(&f.sum, "sum", "", "sum of this argument, e.g. --sum bytes --by path")
	flags.StringVar(&f.avg, "avg", "", "average of this argument")
	flags.StringVar(&f.min, "min", "", "least value of this argument")
	flags.StringVar(&f.max, "max", "", "greatest value of this argument")
	flags.StringVar(&f.stddev, "stddev", "", "standard deviation of this argument")
	flags.StringVar(&f.hist, "hist", "", "histogram of this argument by powers of two, e.g. --hist ms --by path")
	flags.StringVar(&f.lhist, "lhist", "", "histogram in equal steps, ARG,LO,HI,STEP, e.g. --lhist status,100,600,100")
	flags.Float64SliceVar(&f.quantiles, "quantiles", nil, "with --hist, --latency or another of one argument: quantiles in percent, at most 1/64 (1.6 %) off, e.g. 50,99,99.9")
	flags.StringVar(&f.latency, "latency", "", "histogram of the time from one probe to another, START,END, grouped by --by")
	flags.StringSliceVar(&f.key, "key", nil, "with --latency: the arguments that match an end to its start, e.g. id, or what is computed of them (default the goroutine, call or thread)")
	flags.Var(&f.slower, "slower", "with --latency: print each pair that took longer than this, e.g. 50ms, with the arguments of both probes; 0s for all")
	flags.StringSliceVar(&f.by, "by", nil, "a group for each value of these arguments, pid, tid, cpu, uid, comm, probe or stack (the calls that led there), or of what is computed of them: status/100, 'size & 4095', path[:16]; sql(ARG) for statements without their literals, cxx(ARG) for types of C++")
	flags.DurationVar(&f.interval, "interval", 0, "print the groups of each interval, e.g. 1s (default once, at the end)")
	f.order.register(flags)
	flags.IntVar(&f.maxGroups, "max-groups", 0, "groups to tell apart, the largest ones (default 8192, fewer with histograms and quantiles); the others are added up as (other)")
}

// wanted reports whether events are to be aggregated.
func (f *aggregateFlags) wanted() bool {
	for _, argument := range []string{f.sum, f.avg, f.min, f.max, f.stddev, f.hist, f.lhist, f.latency} {
		if argument != "" {
			return true
		}
	}
	return f.count
}

// byStack reports whether groups are by stack.
func (f *aggregateFlags) byStack() bool { return slices.Contains(f.by, "stack") }

// profiled reports whether a profile has all that is computed of groups.
func (f *aggregateFlags) profiled() bool {
	for _, argument := range []string{f.avg, f.min, f.max, f.hist, f.stddev, f.lhist} {
		if argument != "" {
			return false
		}
	}
	return len(f.quantiles) == 0
}

// adds reports whether events are to be added up, and not printed as pairs.
func (f *aggregateFlags) adds() bool { return f.wanted() && !f.slower.given }

// aggregation returns what the kernel is to compute, nil to print events.
func (f *aggregateFlags) aggregation() (*attach.Aggregation, error) {
	if f.interval < 0 {
		return nil, usageError{fmt.Errorf("interval %v is negative", f.interval)}
	}
	wanted := f.count
	linear, err := f.linear()
	if err != nil {
		return nil, usageError{err}
	}
	a := attach.Count()
	for _, v := range []struct {
		argument string
		of       func(string) attach.Aggregation
	}{{f.sum, attach.Sum}, {f.avg, attach.Avg}, {f.min, attach.Min}, {f.max, attach.Max}, {f.stddev, attach.Stddev}, {f.hist, attach.Hist}, {linear, attach.Hist}} {
		if v.argument == "" {
			continue
		}
		if f.value != "" && f.value != v.argument {
			return nil, usageError{fmt.Errorf("--sum, --avg, --min, --max, --stddev, --hist and --lhist are of one argument at a time, not of %s and %s", f.value, v.argument)}
		}
		a, f.value, wanted = a.And(v.of(v.argument)), v.argument, true
	}
	if len(f.quantiles) > 0 && f.latency == "" {
		if f.value == "" {
			return nil, usageError{errors.New("--quantiles does not say of which argument: name it by --hist, --avg or another")}
		}
		a = a.And(attach.Quantiles(f.value, f.quantiles...))
	}
	for i, key := range f.by {
		if slices.Contains(f.by[:i], key) {
			return nil, usageError{fmt.Errorf("--by names %s twice", key)}
		}
	}
	a = a.Bounds(f.bounds...).By(f.by...).MaxGroups(f.maxGroups)
	switch {
	case f.latency == "" && len(f.key) > 0:
		return nil, usageError{errors.New("--key is for --latency; --by groups")}
	case f.latency == "" && f.slower.given:
		return nil, usageError{errors.New("--slower is for --latency: it prints each pair that took longer")}
	case wanted || f.latency != "":
		if err := f.checkOrder(); err != nil {
			return nil, usageError{err}
		}
		return &a, nil
	case len(f.by) > 0 || f.interval > 0 || f.maxGroups > 0 || f.order != orderFlags{sort: "count"}:
		return nil, usageError{errors.New("--by, --interval, --max-groups, --sort, --top and --rate are for --count, --sum, --avg, --min, --max, --stddev, --hist, --lhist and --latency")}
	}
	return nil, nil
}

// linear sets the bounds that --lhist asks for, and returns its argument.
func (f *aggregateFlags) linear() (argument string, err error) {
	if f.lhist == "" {
		return "", nil
	}
	if f.hist != "" {
		return "", errors.New("--hist and --lhist exclude each other")
	}
	parts := strings.Split(f.lhist, ",")
	var numbers [3]float64
	if len(parts) != 1+len(numbers) || parts[0] == "" {
		return "", fmt.Errorf("--lhist %s: want ARG,LO,HI,STEP", f.lhist)
	}
	for i, number := range parts[1:] {
		if numbers[i], err = f.number(number); err != nil {
			return "", fmt.Errorf("--lhist %s: %q is not a number", f.lhist, number)
		}
	}
	f.bounds, err = attach.Linear(numbers[0], numbers[1], numbers[2])
	return parts[0], err
}

// number parses a bound, of durations in nanoseconds or with a unit.
func (f *aggregateFlags) number(s string) (float64, error) {
	if d, err := time.ParseDuration(s); err == nil {
		return float64(d), nil
	}
	return strconv.ParseFloat(s, 64)
}

// aggregate is an attach.Aggregate or an attach.Latency.
type aggregate interface {
	tracer
	searcher
	Read() ([]attach.Group, error)
	Stop() error
	Done() <-chan struct{}
}

// open attaches to the probes, or to those that --latency names.
func (f *aggregateFlags) open(ctx context.Context, probes []string, what *attach.Aggregation, opts *attach.Options) (aggregate, error) {
	if f.latency == "" {
		return attach.OpenAggregate(ctx, probes, *what, opts)
	}
	return attach.OpenLatency(ctx, probes[0], probes[1], &attach.LatencyOptions{
		Key: f.key, Bounds: f.bounds, Quantiles: f.quantiles, Stddev: f.stddev != "", By: f.by, MaxGroups: f.maxGroups,
	}, opts)
}
