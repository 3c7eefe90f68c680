package total

import (
	"strconv"
	"time"

	"github.com/go-usdt/usdt/event"
)

// AppendJSON appends the group, read at a time, as one JSON object:
//
//	{"time": …, "by": {name: value}, "count": …, "sum": …, "avg": …, "min": …, "max": …,
//	 "stddev": …, "quantiles": {"p50": …, "p99.9": …}, "hist": [{"lo": …, "hi": …, "n": …}], "errors": {name: why}}
//
// "truncated", behind "by", says why a stack among its values lacks callers. A member
// that was not asked for is absent, as is errors if there are none. The group of all but
// the largest groups has "other": true, and null for each value of "by". Values are
// written as in events: NaN, +Inf and -Inf are strings.
func (g *Group) AppendJSON(dst []byte, at time.Time) []byte {
	read := event.Arg{Value: at}
	dst = read.AppendJSON(append(dst, `{"time":`...))
	return g.appendRest(append(dst, ','))
}

// MarshalJSON returns what AppendJSON appends, without the time.
func (g Group) MarshalJSON() ([]byte, error) { return g.appendRest([]byte{'{'}), nil }

func (g *Group) appendRest(dst []byte) []byte {
	by := event.Struct(g.By)
	dst = by.AppendJSON(append(dst, `"by":`...))
	for i := range g.By {
		if s, ok := g.By[i].Value.(*event.Stack); ok {
			dst = s.AppendError(dst)
		}
	}
	if g.Other {
		dst = append(dst, `,"other":true`...)
	}
	dst = append(dst, `,"count":`...)
	dst = strconv.AppendUint(dst, g.Count, 10)
	for _, v := range values {
		if f := (event.Arg{Name: v.name, Value: *v.of(g)}); f.Value != nil {
			dst = append(append(append(dst, ',', '"'), f.Name...), `":`...)
			dst = f.AppendJSON(dst)
		}
	}
	if g.Quantiles != nil {
		dst = appendQuantiles(append(dst, `,"quantiles":`...), g.Quantiles)
	}
	if g.Hist != nil {
		dst = append(dst, `,"hist":[`...)
		for i, b := range g.Hist {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = b.appendJSON(dst)
		}
		dst = append(dst, ']')
	}
	key := append(dst, `,"errors":`...)
	if errors := by.AppendErrors(key); len(errors) > len(key) {
		dst = errors
	}
	return append(dst, '}')
}

// MarshalJSON returns {"lo": …, "hi": …, "n": …}, with "-Inf" and "+Inf" where
// the bucket has no bound.
func (b Bucket) MarshalJSON() ([]byte, error) { return b.appendJSON(nil), nil }

func (b *Bucket) appendJSON(dst []byte) []byte {
	dst = appendBound(append(dst, `{"lo":`...), b.Lo)
	dst = appendBound(append(dst, `,"hi":`...), b.Hi)
	dst = strconv.AppendUint(append(dst, `,"n":`...), b.N, 10)
	return append(dst, '}')
}

// appendBound writes integers without an exponent, also beyond 2^64.
func appendBound(dst []byte, f float64) []byte {
	bound := event.Arg{Value: f}
	return bound.AppendJSON(dst)
}
