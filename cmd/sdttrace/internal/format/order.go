package format

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-usdt/usdt/total"
)

// Order say in which order groups are printed, and how many.
type Order struct {
	Sort string
	Top  int
	Own  string // the order where the user names none, also by a value that is not shown; empty for the count
}

// Check returns an error of usage. The names are the names of the values that groups have, beside
// their count and key.
func (f *Order) Check(names []string, grouped bool) error {
	values := []string{"count", "key"}
	for _, name := range names {
		if name != "count" {
			values = append(values, name)
		}
	}
	switch {
	case !slices.Contains(values, f.Sort) && f.Sort != f.Own:
		return fmt.Errorf("--sort %s: the groups have %s", f.Sort, strings.Join(values, ", "))
	case !grouped && (f.Top > 0 || f.Sort != cmp.Or(f.Own, "count")):
		return errors.New("--top and --sort have no effect without --by: there is one group")
	}
	return nil
}

// Arrange puts groups, which are in the order of their counts, in order. The group of others
// comes last.
func (f *Order) Arrange(groups []total.Group) {
	switch f.Sort {
	case "count", "rate": // which is the count by the same time
	case "key":
		slices.SortStableFunc(groups, func(a, b total.Group) int { return a.CompareKeys(&b) })
	default:
		slices.SortStableFunc(groups, func(a, b total.Group) int {
			if a.Other != b.Other {
				return a.CompareKeys(&b)
			}
			return cmp.Compare(valueOf(&b, f.Sort), valueOf(&a, f.Sort))
		})
	}
}

// First returns the groups that are printed, and how many others there are with how many
// events.
func (f *Order) First(groups []total.Group) (some []total.Group, others int, events uint64) {
	if f.Top == 0 || f.Top >= len(groups) {
		return groups, 0, 0
	}
	for i := range groups[f.Top:] {
		events += groups[f.Top+i].Count
	}
	return groups[:f.Top], len(groups) - f.Top, events
}

// valueOf returns a value by its name.
func valueOf(g *total.Group, name string) float64 { return numberOf(g.Value(name)) }
