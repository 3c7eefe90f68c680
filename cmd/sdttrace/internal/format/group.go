package format

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/printable"
	"github.com/go-usdt/usdt/reader"
	"github.com/go-usdt/usdt/total"
)

// Group is a group as it is printed.
type Group struct {
	*total.Group
	At      time.Time // zero for none
	Unit    Unit      // of the value
	Seconds float64   // in which the events fired, for rates; 0 for no rates
}

// AppendGroup appends a group as a line of text, and its histogram below.
func AppendGroup(dst []byte, g *Group) []byte {
	if !g.At.IsZero() {
		dst = append(g.At.AppendFormat(dst, "15:04:05.000000"), ' ')
	}
	for i := range g.By {
		if _, ok := g.By[i].Value.(*event.Stack); ok {
			continue // below the line
		}
		dst = append(printable.Append(dst, g.By[i].Name), '=')
		if g.Other {
			dst = append(dst, "(other) "...)
			continue
		}
		dst = append(AppendValue(dst, &g.By[i]), ' ')
	}
	dst = AppendCount(append(dst, "count="...), g.Count)
	if g.Seconds > 0 {
		dst = append(AppendShort(append(dst, " rate="...), g.rate(), 4), "/s"...)
	}
	u := g.Unit
	if g.Meaning == reader.Duration {
		u = "ns"
	}
	add := func(name string, value any, write func([]byte, any) []byte) {
		if value != nil {
			dst = write(append(append(append(dst, ' '), name...), '='), value)
		}
	}
	add("sum", g.Sum, u.append)
	if rate, ok := g.sumRate(); ok {
		add("sum_rate", rate, u.appendRate)
		dst = append(dst, "/s"...)
	}
	add("avg", g.Avg, u.appendMean)
	add("min", g.Min, u.append)
	add("max", g.Max, u.append)
	add("stddev", g.Stddev, u.appendMean)
	for i := range g.Quantiles {
		add(g.Quantiles[i].Name(), g.Quantiles[i].Value, u.append)
	}
	for i := range g.By {
		if s, ok := g.By[i].Value.(*event.Stack); ok {
			dst = AppendStack(dst, s)
		}
	}
	return appendHist(append(dst, '\n'), u, g.Hist)
}

// appendHist appends a histogram, a line for each bucket.
func appendHist(dst []byte, u Unit, hist []total.Bucket) []byte {
	most := uint64(1)
	for _, b := range hist {
		most = max(most, b.N)
	}
	for _, b := range hist {
		bar := strings.Repeat("#", int(float64(b.N)/float64(most)*40))
		dst = fmt.Appendf(dst, "  %12s - %-12s %10s |%s\n", u.bound(b.Lo), u.bound(b.Hi), AppendCount(nil, b.N), bar)
	}
	return dst
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

// appendGroupJSON appends a group as a JSON object, with rates as plain numbers.
func appendGroupJSON(dst []byte, g *Group) []byte {
	dst = g.AppendJSON(dst, g.At)
	if g.Seconds > 0 {
		dst = (&event.Arg{Value: g.rate()}).AppendJSON(append(dst[:len(dst)-1], `,"rate":`...))
		if rate, ok := g.sumRate(); ok {
			dst = (&event.Arg{Value: rate}).AppendJSON(append(dst, `,"sum_rate":`...))
		}
		dst = append(dst, '}')
	}
	return append(dst, '\n')
}
