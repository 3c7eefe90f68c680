package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/go-usdt/usdt/attach"
)

// orderFlags say in which order groups are printed, how many, and with what.
type orderFlags struct {
	sort string
	top  int
	rate bool
}

// orders are the values of --sort, beside the names of quantiles.
var orders = []string{"count", "key", "sum", "avg", "min", "max", "stddev"}

func (f *orderFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.sort, "sort", "count", "order of the groups: count, key, or a value that is computed, such as sum, max or p99, the greatest first")
	flags.IntVar(&f.top, "top", 0, "print only so many groups, the first ones, e.g. 10")
	flags.BoolVar(&f.rate, "rate", false, "print how many events fired in a second, too, and with --sum how much that is")
}

// values returns what a group has, as --sort names it.
func (f *aggregateFlags) values() []string {
	values := []string{"count", "key"}
	for _, v := range []struct{ name, of string }{{"sum", f.sum}, {"avg", f.avg}, {"min", f.min}, {"max", f.max}, {"stddev", f.stddev}} {
		if v.of != "" || f.latency != "" && v.name != "stddev" {
			values = append(values, v.name)
		}
	}
	for _, percent := range f.quantiles {
		values = append(values, (&attach.Quantile{Percent: percent}).Name())
	}
	return values
}

// checkOrder returns an error of usage.
func (f *aggregateFlags) checkOrder() error {
	values := f.values()
	switch {
	case f.order.top < 0:
		return fmt.Errorf("--top %d is negative", f.order.top)
	case !slices.Contains(values, f.order.sort):
		return fmt.Errorf("--sort %s: the groups have %s", f.order.sort, strings.Join(values, ", "))
	case len(f.by) == 0 && (f.order.top > 0 || f.order.sort != "count"):
		return errors.New("--top and --sort have no effect without --by: there is one group")
	}
	return nil
}

// arrange puts groups, which are in the order of their counts, in order. The group of others
// comes last.
func (f *orderFlags) arrange(groups []attach.Group) {
	switch f.sort {
	case "count":
	case "key":
		slices.SortStableFunc(groups, func(a, b attach.Group) int { return a.CompareKeys(&b) })
	default:
		slices.SortStableFunc(groups, func(a, b attach.Group) int {
			if a.Other != b.Other {
				return a.CompareKeys(&b)
			}
			return cmp.Compare(valueOf(&b, f.sort), valueOf(&a, f.sort))
		})
	}
}

// first returns the groups that are printed, and how many others there are with how many
// events.
func (f *orderFlags) first(groups []attach.Group) (some []attach.Group, others int, events uint64) {
	if f.top == 0 || f.top >= len(groups) {
		return groups, 0, 0
	}
	for i := range groups[f.top:] {
		events += groups[f.top+i].Count
	}
	return groups[:f.top], len(groups) - f.top, events
}

// valueOf returns a value by its name.
func valueOf(g *attach.Group, name string) float64 {
	switch name {
	case "sum":
		return numberOf(g.Sum)
	case "avg":
		return numberOf(g.Avg)
	case "min":
		return numberOf(g.Min)
	case "max":
		return numberOf(g.Max)
	case "stddev":
		return numberOf(g.Stddev)
	}
	for i := range g.Quantiles {
		if g.Quantiles[i].Name() == name {
			return numberOf(g.Quantiles[i].Value)
		}
	}
	return numberOf(nil)
}

// appendOthers appends a line for groups that are left out.
func appendOthers(dst []byte, others int, events uint64) []byte {
	groups := "groups"
	if others == 1 {
		groups = "group"
	}
	return append(appendCount(fmt.Appendf(dst, "... %d more %s, count=", others, groups), events), '\n')
}
