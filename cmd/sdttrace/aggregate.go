package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/printable"
	"github.com/go-usdt/usdt/reader"
)

// aggregateFlags are the flags that make the kernel aggregate.
type aggregateFlags struct {
	count                    bool
	sum, avg, min, max, hist string
	lhist, latency           string
	key, by                  []string
	interval                 time.Duration
	maxGroups                int
	bounds                   []float64 // of --lhist
}

func (f *aggregateFlags) register(flags *pflag.FlagSet) {
	flags.BoolVar(&f.count, "count", false, "count events in the kernel instead of printing them")
	flags.StringVar(&f.sum, "sum", "", "sum of this argument, e.g. --sum bytes --by path")
	flags.StringVar(&f.avg, "avg", "", "average of this argument")
	flags.StringVar(&f.min, "min", "", "least value of this argument")
	flags.StringVar(&f.max, "max", "", "greatest value of this argument")
	flags.StringVar(&f.hist, "hist", "", "histogram of this argument by powers of two, e.g. --hist ms --by path")
	flags.StringVar(&f.lhist, "lhist", "", "histogram in equal steps, ARG,LO,HI,STEP, e.g. --lhist status,100,600,100")
	flags.StringVar(&f.latency, "latency", "", "histogram of the time from one probe to another, START,END, grouped by --by")
	flags.StringSliceVar(&f.key, "key", nil, "with --latency: the arguments that match an end to its start, e.g. id (default the goroutine, call or thread)")
	flags.StringSliceVar(&f.by, "by", nil, "a group for each value of these arguments, pid, tid, comm or probe")
	flags.DurationVar(&f.interval, "interval", 0, "print the groups of each interval, e.g. 1s (default once, at the end)")
	flags.IntVar(&f.maxGroups, "max-groups", 0, "groups to keep at a time (default 8192, fewer with histograms); events of further groups are lost")
}

// wanted reports whether events are to be aggregated.
func (f *aggregateFlags) wanted() bool {
	for _, argument := range []string{f.sum, f.avg, f.min, f.max, f.hist, f.lhist, f.latency} {
		if argument != "" {
			return true
		}
	}
	return f.count
}

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
	a, value := attach.Count(), ""
	for _, v := range []struct {
		argument string
		of       func(string) attach.Aggregation
	}{{f.sum, attach.Sum}, {f.avg, attach.Avg}, {f.min, attach.Min}, {f.max, attach.Max}, {f.hist, attach.Hist}, {linear, attach.Hist}} {
		if v.argument == "" {
			continue
		}
		if value != "" && value != v.argument {
			return nil, usageError{fmt.Errorf("--sum, --avg, --min, --max, --hist and --lhist are of one argument at a time, not of %s and %s", value, v.argument)}
		}
		a, value, wanted = a.And(v.of(v.argument)), v.argument, true
	}
	a = a.Bounds(f.bounds...).By(f.by...).MaxGroups(f.maxGroups)
	switch {
	case f.latency == "" && len(f.key) > 0:
		return nil, usageError{errors.New("--key is for --latency; --by groups")}
	case wanted || f.latency != "":
		return &a, nil
	case len(f.by) > 0 || f.interval > 0 || f.maxGroups > 0:
		return nil, usageError{errors.New("--by, --interval and --max-groups are for --count, --sum, --avg, --min, --max, --hist, --lhist and --latency")}
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
		Key: f.key, Bounds: f.bounds, By: f.by, MaxGroups: f.maxGroups,
	}, opts)
}

// print writes groups, each interval and at the end.
func (f *aggregateFlags) print(ctx context.Context, a aggregate, output *format, stdout io.Writer) error {
	out := bufio.NewWriter(stdout)
	write := func() error {
		groups, err := a.Read()
		if err != nil {
			return err
		}
		now := time.Now()
		var line []byte
		for i := range groups {
			line = output.group(f, line[:0], &groups[i], now)
			if _, err := out.Write(line); err != nil {
				return err
			}
		}
		return out.Flush()
	}
	var tick <-chan time.Time
	if f.interval > 0 {
		t := time.NewTicker(f.interval)
		defer t.Stop()
		tick = t.C
	}
	for {
		select {
		case <-tick:
			if err := write(); err != nil {
				return outputError(err)
			}
			continue
		case <-a.Done():
		case <-ctx.Done():
		}
		if err := a.Stop(); err != nil {
			return err
		}
		return outputError(write())
	}
}

// appendGroup appends a group as a line of text, and its histogram below.
func (f *aggregateFlags) appendGroup(dst []byte, g *attach.Group, at time.Time) []byte {
	dst = at.AppendFormat(dst, "15:04:05.000000")
	for i := range g.By {
		dst = append(printable.Append(append(dst, ' '), g.By[i].Name), '=')
		dst = appendValue(dst, &g.By[i])
	}
	dst = fmt.Appendf(dst, " count=%d", g.Count)
	for _, v := range []struct {
		name  string
		value any
	}{{"sum", g.Sum}, {"avg", g.Avg}, {"min", g.Min}, {"max", g.Max}} {
		if v.value != nil {
			dst = append(append(append(dst, ' '), v.name...), '=')
			dst = appendValue(dst, &event.Arg{Value: f.inUnits(v.value)})
		}
	}
	dst = append(dst, '\n')
	most := uint64(1)
	for _, b := range g.Hist {
		most = max(most, b.N)
	}
	for _, b := range g.Hist {
		bar := strings.Repeat("#", int(float64(b.N)/float64(most)*40))
		dst = fmt.Appendf(dst, "  %12s - %-12s %10d |%s\n", f.bound(g, b.Lo), f.bound(g, b.Hi), b.N, bar)
	}
	return dst
}

// inUnits returns a value in units that are easy to read.
func (f *aggregateFlags) inUnits(value any) any {
	if f.latency == "" {
		return value
	}
	switch v := value.(type) {
	case uint64:
		return time.Duration(v)
	case float64:
		return time.Duration(v)
	}
	return value
}

func (f *aggregateFlags) bound(g *attach.Group, b float64) string {
	if (f.latency != "" || g.Meaning == reader.Duration) && math.Abs(b) < math.MaxInt64 {
		return time.Duration(b).String()
	}
	return string(printable.AppendFloat(nil, b))
}
