package format

import (
	"math"
	"time"

	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/reader"
	"github.com/go-usdt/usdt/total"
)

// Group is a group as it is printed.
type Group struct {
	*total.Group
	Unit    Unit    // of the value
	Seconds float64 // in which the events fired, for rates; 0 for no rates
}

// unitOf returns the unit of a group's value.
func unitOf(u Unit, g *total.Group) Unit {
	if g.Meaning == reader.Duration {
		return "ns"
	}
	return u
}

// rate returns the events of a second.
func (g *Group) rate() float64 { return float64(g.Count) / g.Seconds }

// sumRate returns the sum of a second.
func (g *Group) sumRate() (float64, bool) {
	if g.Seconds == 0 || g.Sum == nil {
		return 0, false
	}
	return numberOf(g.Sum) / g.Seconds, true
}

// numberOf returns a value of a group as a number; -Inf of none.
func numberOf(value any) float64 {
	switch v := value.(type) {
	case uint64:
		return float64(v)
	case int64:
		return float64(v)
	case float64:
		return v
	case time.Duration:
		return float64(v)
	case time.Time:
		return float64(v.UnixNano())
	}
	return math.Inf(-1)
}

// appendGroupsJSON appends each group as a JSON object.
func appendGroupsJSON(dst []byte, t *Table, in *Interval) []byte {
	g := Group{Unit: in.Unit}
	if t.rate() {
		g.Seconds = in.Took.Seconds()
	}
	for i := range in.Groups {
		g.Group = &in.Groups[i]
		dst = appendGroupJSON(dst, &g, in.At)
	}
	return dst
}

// appendGroupJSON appends a group, with rates as plain numbers.
func appendGroupJSON(dst []byte, g *Group, at time.Time) []byte {
	dst = g.AppendJSON(dst, at)
	if g.Seconds > 0 {
		dst = (&event.Arg{Value: g.rate()}).AppendJSON(append(dst[:len(dst)-1], `,"rate":`...))
		if rate, ok := g.sumRate(); ok {
			dst = (&event.Arg{Value: rate}).AppendJSON(append(dst, `,"sum_rate":`...))
		}
		dst = append(dst, '}')
	}
	return append(dst, '\n')
}
