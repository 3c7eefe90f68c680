package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-usdt/usdt/total"
)

// orderFlags say in which order groups are printed, and how many.
type orderFlags struct {
	sort string
	top  int
}

// orders are the values of --sort, beside the names of quantiles.
var orders = func() []string {
	names := []string{"count", "key"}
	for _, c := range computed {
		names = append(names, c.name)
	}
	return names
}()

func (f *orderFlags) register(set wordSet) {
	f.sort = orders[0]
	set.add("sort", &f.sort)
	set.add("top", &f.top)
}

// check returns an error of usage. The names are those of the values that groups have, beside
// their count and key.
func (f *orderFlags) check(names []string, grouped bool) error {
	values := append([]string{"count", "key"}, names...)
	switch {
	case f.top < 0:
		return fmt.Errorf("--top %d is negative", f.top)
	case !slices.Contains(values, f.sort):
		return fmt.Errorf("--sort %s: the groups have %s", f.sort, strings.Join(values, ", "))
	case !grouped && (f.top > 0 || f.sort != "count"):
		return errors.New("--top and --sort have no effect without --by: there is one group")
	}
	return nil
}

// arrange puts groups, which are in the order of their counts, in order. The group of others
// comes last.
func (f *orderFlags) arrange(groups []total.Group) {
	switch f.sort {
	case "count":
	case "key":
		slices.SortStableFunc(groups, func(a, b total.Group) int { return a.CompareKeys(&b) })
	default:
		slices.SortStableFunc(groups, func(a, b total.Group) int {
			if a.Other != b.Other {
				return a.CompareKeys(&b)
			}
			return cmp.Compare(valueOf(&b, f.sort), valueOf(&a, f.sort))
		})
	}
}

// first returns the groups that are printed, and how many others there are with how many
// events.
func (f *orderFlags) first(groups []total.Group) (some []total.Group, others int, events uint64) {
	if f.top == 0 || f.top >= len(groups) {
		return groups, 0, 0
	}
	for i := range groups[f.top:] {
		events += groups[f.top+i].Count
	}
	return groups[:f.top], len(groups) - f.top, events
}

// valueOf returns a value by its name.
func valueOf(g *total.Group, name string) float64 {
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
