package total

import (
	"slices"
	"time"

	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/order"
	"github.com/go-usdt/usdt/reader"
)

// Group is the result for all events that have equal values of attach.Aggregation.By.
type Group struct {
	By    []event.Arg // named as in attach.Aggregation.By
	Count uint64
	// At is the end of the interval in which the events fired, see attach.Aggregation.Interval,
	// or the time of the last one if there are no intervals. Only groups of recordings have
	// it; it is zero if events are live.
	At time.Time
	// From is when that interval began, or the time of the first event. Only groups of
	// recordings have it.
	From time.Time
	// Other says that the group has the events of all groups but the largest ones, see
	// attach.Aggregation.MaxGroups: it has no values of By.
	Other bool

	// Sum, Avg, Min and Max are nil unless they were asked for. Sum, Min and Max are an int64
	// of a signed argument, a uint64 of an unsigned one and a float64 of a floating-point
	// number; Avg is a float64. An argument that is signed at one site is signed, and an event
	// whose unsigned number is 2^63 or more is then lost. Integers are added modulo 2^64,
	// floating-point numbers in units of 2^-20; numbers beyond 2^43 are lost. A sum that 64 bits
	// do not hold is wrong, and so is what is computed of it, unless Min and Max are asked for as
	// well and lie less than 2^64 of these units, divided by Count, apart: then only a Sum of
	// integers is.
	Sum, Avg, Min, Max any
	Hist               []Bucket // from the first with values to the last

	// Stddev is the standard deviation, of all values and not of a sample: a float64.
	// It is wrong where Avg is.
	Stddev    any
	Quantiles []Quantile // in the order in which they were asked for

	// Meaning is the argument's. If it is [reader.Duration], the values are
	// time.Durations, including Avg and Stddev, and Hist counts nanoseconds; if it is
	// [reader.Time], Min and Max are time.Times.
	Meaning reader.Meaning
}

// CompareKeys compares the values of By: it returns a number less than 0 if g's come
// first, 0 if they are equal. Values that could not be read come first. Numbers are in the
// order of their sizes, and text in the order of its bytes. The group of others comes last.
func (g *Group) CompareKeys(other *Group) int {
	switch {
	case g.Other && !other.Other:
		return 1
	case other.Other && !g.Other:
		return -1
	}
	return slices.CompareFunc(g.By, other.By, order.Args)
}

// values are the values of which a group has one, with their names, in the order in which they are
// written.
var values = [...]struct {
	name string
	of   func(*Group) *any
}{
	{"sum", func(g *Group) *any { return &g.Sum }},
	{"avg", func(g *Group) *any { return &g.Avg }},
	{"min", func(g *Group) *any { return &g.Min }},
	{"max", func(g *Group) *any { return &g.Max }},
	{"stddev", func(g *Group) *any { return &g.Stddev }},
}

// Value returns a value by its name in JSON, such as "sum", or that of a quantile, such as "p99.9".
// It returns nil if the group has none.
func (g *Group) Value(name string) any {
	for _, v := range values {
		if v.name == name {
			return *v.of(g)
		}
	}
	for i := range g.Quantiles {
		if g.Quantiles[i].Name() == name {
			return g.Quantiles[i].Value
		}
	}
	return nil
}

// Hide sets a value to nil, by the name that Value takes. Quantiles stay.
func (g *Group) Hide(name string) {
	for _, v := range values {
		if v.name == name {
			*v.of(g) = nil
		}
	}
}
