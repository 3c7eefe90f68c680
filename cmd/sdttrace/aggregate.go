package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-usdt/usdt/attach"
)

// sums is a deed that adds events up, in groups. Verbs say what is computed.
type sums struct {
	defaults
	*traceFlags
	by        []string
	interval  time.Duration
	maxGroups int
	order     orderFlags
	show      showFlags

	value string // the argument that is added up; "latency" of pairs; empty to count
	shown values
	start string // of a latency; empty otherwise
	what  attach.Aggregation
}

// grouping registers how events are grouped, and how groups are printed.
func (d *sums) grouping(set wordSet) {
	set.add("by", &d.by)
	set.add("interval", &d.interval)
	d.order.register(set)
	set.add("max-groups", &d.maxGroups)
	set.add("stack", &d.stack)
}

// rest registers what all verbs that add up share.
func (d *sums) rest(set wordSet) {
	d.addedUp(set)
	d.said(set, lineFormats())
	d.arguments(set)
}

// every is how often the groups are printed.
func (d *sums) every() time.Duration { return d.interval }

// prepare decides what is computed, with what the verb shows by itself.
func (d *sums) prepare(own values) (err error) {
	if d.shown, err = d.show.values(own); err != nil {
		return err
	}
	return d.compute()
}

// compute makes the aggregation of what is shown.
func (d *sums) compute() error {
	if d.interval < 0 {
		return fmt.Errorf("interval %v is negative", d.interval)
	}
	a := attach.Count()
	for _, v := range computed {
		if d.value != "" && slices.Contains(d.shown.names, v.name) {
			a = a.And(v.of(d.value))
		}
	}
	if d.value != "" && d.shown.hist {
		a = a.And(attach.Hist(d.value))
	}
	if d.value != "" && len(d.shown.percents) > 0 {
		a = a.And(attach.Quantiles(d.value, d.shown.percents...))
	}
	for i, key := range d.by {
		if slices.Contains(d.by[:i], key) {
			return fmt.Errorf("--by names %s twice", key)
		}
	}
	d.what = a.Bounds(d.shown.bounds...).By(d.by...).MaxGroups(d.maxGroups)
	switch {
	case d.given("max-groups") && len(d.by) == 0:
		return errors.New("--max-groups has no effect without --by: there is one group")
	case d.given("stack") && !d.byStack():
		return errors.New("--stack says how stacks are read that --by stack groups by")
	case d.replayed != nil && d.shown.rate && d.interval == 0:
		return errors.New("--show rate of recordings needs --interval, which says of how long")
	}
	return d.order.check(d.shown.names, len(d.by) > 0)
}

// byStack reports whether groups are by stack.
func (d *sums) byStack() bool { return slices.Contains(d.by, "stack") }

func (d *sums) open(ctx context.Context, probes []string, opts *attach.Options, to *showing) (session, func() error, error) {
	a, err := attach.OpenAggregate(ctx, probes, d.what, opts)
	return a, func() error { return d.print(ctx, a, to) }, err
}

// conclude reports the events that a sum lacks because of their argument. Recordings may have
// lost others.
func (d *sums) conclude(s tracer, stderr io.Writer) error {
	if d.value == "" || d.start != "" || d.replayed != nil {
		return nil
	}
	st, err := s.Stats()
	if n := st.Lost - st.Full - st.Contended; err == nil && n > 0 {
		fmt.Fprintf(stderr, "sdttrace: %d events lost: their %s could not be read, is not finite, or is beyond what can be added up\n", n, d.value)
	}
	return err
}

// computed are the values of one argument that a group may have, beside quantiles.
var computed = []struct {
	name string
	of   func(argument string) attach.Aggregation
}{
	{"sum", attach.Sum}, {"avg", attach.Avg}, {"min", attach.Min}, {"max", attach.Max}, {"stddev", attach.Stddev},
}

// showFlags say which values groups have.
type showFlags struct {
	names     []string
	quantiles []float64
	hist      bool
	steps     string
}

// values are what groups are shown with.
type values struct {
	names    []string // as in --show, without rate
	percents []float64
	hist     bool
	bounds   []float64 // of the histogram; nil for powers of two
	rate     bool
}

// values returns what is shown: what is named or, if nothing is, what the verb shows by itself.
func (f *showFlags) values(own values) (v values, err error) {
	v = own
	if len(f.names) > 0 {
		v = values{hist: f.hist}
		if own.hist && len(own.names) == 0 { // it is the verb's purpose
			v.hist = true
		}
		for _, name := range f.names {
			if err := v.add(name); err != nil {
				return v, err
			}
		}
	} else if len(f.quantiles) > 0 {
		v = values{names: slices.DeleteFunc(slices.Clone(own.names), func(name string) bool { return percentOf(name) > 0 }), hist: own.hist}
	}
	for _, percent := range f.quantiles {
		v.names = append(v.names, (&attach.Quantile{Percent: percent}).Name())
	}
	v.percents = nil
	for _, name := range v.names {
		if percent := percentOf(name); percent > 0 {
			v.percents = append(v.percents, percent)
		}
	}
	v.percents = append(v.percents, slices.DeleteFunc(slices.Clone(f.quantiles), func(p float64) bool { return p > 0 })...) // which are refused
	v.hist = v.hist || f.hist || f.steps != ""
	v.bounds, err = linear(f.steps)
	return v, err
}

// add adds a value by its name.
func (v *values) add(name string) error {
	name = strings.TrimSpace(name)
	switch {
	case name == "count": // which all groups have
	case name == "rate":
		v.rate = true
	case name == "hist":
		v.hist = true
	case slices.Contains(v.names, name):
		return fmt.Errorf("--show names %s twice", name)
	case percentOf(name) > 0:
		v.names = append(v.names, name)
	default:
		for _, c := range computed {
			if c.name == name {
				v.names = append(v.names, name)
				return nil
			}
		}
		return fmt.Errorf("--show %s: want count, sum, avg, min, max, stddev, rate, hist, or a quantile such as p50 or p99.9", name)
	}
	return nil
}

// percentOf returns the percentage of a quantile's name, as in p99.9; 0 of another name.
func percentOf(name string) float64 {
	number, ok := strings.CutPrefix(name, "p")
	percent, err := strconv.ParseFloat(number, 64)
	if !ok || err != nil {
		return 0
	}
	return percent
}

// linear returns the bounds of --steps, nil if it is empty.
func linear(steps string) ([]float64, error) {
	if steps == "" {
		return nil, nil
	}
	parts := strings.Split(steps, ",")
	var numbers [3]float64
	if len(parts) != len(numbers) {
		return nil, fmt.Errorf("--steps %s: want LO,HI,STEP", steps)
	}
	for i, number := range parts {
		var err error
		if numbers[i], err = bound(number); err != nil {
			return nil, fmt.Errorf("--steps %s: %q is not a number", steps, number)
		}
	}
	bounds, err := attach.Linear(numbers[0], numbers[1], numbers[2])
	if err != nil {
		return nil, fmt.Errorf("--steps %s: %w", steps, err)
	}
	return bounds, nil
}

// bound parses a bound, of durations in nanoseconds or with a unit.
func bound(s string) (float64, error) {
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
