package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/total"
)

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
		v.names = append(v.names, (&total.Quantile{Percent: percent}).Name())
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

// hide removes from a group what is not shown: the time of pairs is always added up.
func (v *values) hide(g *total.Group) {
	for _, c := range []struct {
		name  string
		value *any
	}{{"sum", &g.Sum}, {"avg", &g.Avg}, {"min", &g.Min}, {"max", &g.Max}} {
		if !slices.Contains(v.names, c.name) {
			*c.value = nil
		}
	}
	if !v.hist {
		g.Hist = nil
	}
}

// orders are the values of --sort, beside the names of quantiles.
var orders = func() []string {
	names := []string{"count", "key"}
	for _, c := range computed {
		names = append(names, c.name)
	}
	return names
}()
