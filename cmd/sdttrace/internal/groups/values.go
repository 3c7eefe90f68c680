package groups

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/spelling"
	"github.com/go-usdt/usdt/total"
)

// computed are the values of one argument that a group may have, beside quantiles.
var computed = []struct {
	name string
	of   func(argument string) attach.Aggregation
}{
	{"sum", attach.Sum}, {"avg", attach.Avg}, {"min", attach.Min}, {"max", attach.Max}, {"stddev", attach.Stddev},
}

// Show says which values groups have.
type Show struct {
	Names     []string
	Quantiles []float64
	Hist      bool
	Steps     string
}

// Values are what groups are shown with.
type Values struct {
	Names    []string // in the order of columns, as in --show
	Percents []float64
	Hist     bool
	Bounds   []float64 // of the histogram; nil for powers of two
}

// Values returns what is shown: what is named or, if nothing is, what the verb shows by itself.
func (f *Show) Values(own Values) (v Values, err error) {
	v = own
	if len(f.Names) > 0 {
		v = Values{Hist: f.Hist}
		if own.Hist && len(own.Names) == 0 { // it is the verb's purpose
			v.Hist = true
		}
		for _, name := range f.Names {
			if err := v.add(name); err != nil {
				return v, err
			}
		}
	} else if len(f.Quantiles) > 0 {
		v = Values{Names: slices.DeleteFunc(slices.Clone(own.Names), func(name string) bool { return percentOf(name) > 0 }), Hist: own.Hist}
	}
	for _, percent := range f.Quantiles {
		v.Names = append(v.Names, (&total.Quantile{Percent: percent}).Name())
	}
	v.Percents = nil
	for _, name := range v.Names {
		if percent := percentOf(name); percent > 0 {
			v.Percents = append(v.Percents, percent)
		}
	}
	v.Percents = append(v.Percents, slices.DeleteFunc(slices.Clone(f.Quantiles), func(p float64) bool { return p > 0 })...) // which are refused
	v.Hist = v.Hist || f.Hist || f.Steps != ""
	v.Bounds, err = linear(f.Steps)
	return v, err
}

// Of returns the aggregation of an argument that has the values; without an argument, the count.
func (v *Values) Of(argument string) attach.Aggregation {
	a := attach.Count()
	if argument == "" {
		return a
	}
	for _, c := range computed {
		if slices.Contains(v.Names, c.name) {
			a = a.And(c.of(argument))
		}
	}
	if v.Hist {
		a = a.And(attach.Hist(argument))
	}
	if len(v.Percents) > 0 {
		a = a.And(attach.Quantiles(argument, v.Percents...))
	}
	return a
}

// add adds a value by its name.
func (v *Values) add(name string) error {
	name = strings.TrimSpace(name)
	if percent := percentOf(name); percent > 0 {
		name = (&total.Quantile{Percent: percent}).Name() // p99.90 is p99.9
	}
	switch {
	case name == "hist":
		v.Hist = true
	case slices.Contains(v.Names, name):
		return fmt.Errorf("--show names %s twice", name)
	case name == "count", name == "rate", percentOf(name) > 0:
		v.Names = append(v.Names, name)
	default:
		if slices.Contains(names(), name) {
			v.Names = append(v.Names, name)
			return nil
		}
		return fmt.Errorf("--show %s: want %s, or a quantile such as p50 or p99.9%s", name, strings.Join(valueNames, ", "), spelling.Nearly(name, valueNames))
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
func (v *Values) hide(g *total.Group) {
	for _, c := range computed {
		if !slices.Contains(v.Names, c.name) {
			g.Hide(c.name)
		}
	}
	if !v.Hist {
		g.Hist = nil
	}
}

// Orders are the values of --sort, beside the names of quantiles.
var Orders = append([]string{"count", "key"}, names()...)

// valueNames are the names of values, except quantiles.
var valueNames = slices.Concat([]string{"count"}, names(), []string{"rate", "hist"})

// names returns the names of computed values.
func names() (all []string) {
	for _, c := range computed {
		all = append(all, c.name)
	}
	return all
}
