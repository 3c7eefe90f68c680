package attach

import (
	"math"
	"strconv"
	"time"
)

// AppendJSON appends the group, read at a time, as one JSON object:
//
//	{"time": …, "by": {name: value}, "count": …, "sum": …, "avg": …, "min": …, "max": …,
//	 "hist": [{"lo": …, "hi": …, "n": …}]}
//
// What was not asked for is absent. Values are written as those of events.
func (g *Group) AppendJSON(dst []byte, at time.Time) []byte {
	dst = append(dst, `{"time":"`...)
	dst = at.AppendFormat(dst, timeFormat)
	dst = append(dst, `","by":{`...)
	for i := range g.By {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(dst, g.By[i].Name)
		dst = append(dst, ':')
		dst = appendValue(dst, g.By[i].Value)
	}
	dst = append(dst, `},"count":`...)
	dst = strconv.AppendUint(dst, g.Count, 10)
	for _, f := range [...]struct {
		key   string
		value any
	}{{"sum", g.Sum}, {"avg", g.Avg}, {"min", g.Min}, {"max", g.Max}} {
		if f.value != nil {
			dst = append(append(append(dst, ',', '"'), f.key...), `":`...)
			dst = appendValue(dst, f.value)
		}
	}
	if g.Hist == nil {
		return append(dst, '}')
	}
	dst = append(dst, `,"hist":[`...)
	for i, b := range g.Hist {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendBound(append(dst, `{"lo":`...), b.Lo)
		dst = appendBound(append(dst, `,"hi":`...), b.Hi)
		dst = strconv.AppendUint(append(dst, `,"n":`...), b.N, 10)
		dst = append(dst, '}')
	}
	return append(dst, "]}"...)
}

// appendBound writes integers as such, to 2^64 and further.
func appendBound(dst []byte, f float64) []byte {
	if f == math.Trunc(f) && math.Abs(f) < 1e21 {
		return strconv.AppendFloat(dst, f, 'f', -1, 64)
	}
	return appendValue(dst, f)
}
