package query

import (
	"errors"
	"slices"
)

// ErrAggregation is wrapped by the errors of aggregations that are not possible.
var ErrAggregation = errors.New("aggregation")

// Computation is what is computed of events.
type Computation struct {
	Value     string // the argument to which the following apply
	Functions FunctionSet
	Hist      bool

	Quantiles []float64 // in percent
	Bounds    []float64 // of hist; nil for another Division
	Division  Division  // of hist without Bounds
	By        []string  // what events are grouped by
	MaxGroups int       // 0 for the default
}

// ByStack reports whether groups are told apart by stack, unless an argument is called so.
func (c *Computation) ByStack() bool { return slices.Contains(c.By, Stack) }

// Values returns the cells of which all that is computed is made. Quantiles, which are middles of
// buckets, lie between the least and the greatest value.
func (c *Computation) Values() Values {
	fine := len(c.Quantiles) > 0
	v := Values{
		Value: c.Value != "", Min: fine, Max: fine, Hist: c.Hist, Fine: fine,
		Division: c.division(), Bounds: len(c.Bounds),
	}
	for f := range Functions {
		if c.Functions.Has(f) {
			functions[f](&v)
		}
	}
	return v
}

// Folds reports whether groups are made of the results of a function that programs do not
// have, so that events have to be recorded and added up here. Groups of a function that
// gives each text a result of its own can be made of the texts.
func (c *Computation) Folds() bool {
	return slices.ContainsFunc(c.By, func(text string) bool {
		k, err := ParseKey(text)
		return err == nil && k.Fold != nil && k.Fold.Many
	})
}
