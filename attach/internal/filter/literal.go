package filter

import (
	"math"
	"net/netip"
	"regexp"
	"sync"
	"time"
)

// literals are the times and addresses that need no quotes.
var (
	timeLiteral    = lazily(`^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?`)
	addressLiteral = lazily(`^\d+\.\d+\.\d+\.\d+`)
)

func lazily(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// timeLayouts of times, which are in UTC unless they say otherwise.
var timeLayouts = []string{time.RFC3339Nano, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04", time.DateOnly}

// literal reads a time or an address from the beginning of rest into t, and
// reports whether there is one.
func (l *lexer) literal(t *token, rest string) bool {
	text := timeLiteral().FindString(rest)
	ok := text != "" && t.constant.setTime(text)
	if !ok {
		text = addressLiteral().FindString(rest)
		ok = text != "" && t.constant.setAddress(text)
	}
	if ok {
		t.kind, t.text = tokenConstant, text
		l.pos += len(text)
	}
	return ok
}

// set makes k a number of nanoseconds.
func (k *Constant) set(kind Kind, ns int64) {
	k.Kind, k.Negative, k.Uint = kind, ns < 0, uint64(ns)
	if k.Negative {
		k.Uint = -k.Uint
	}
}

// setTime makes k the time that text denotes.
func (k *Constant) setTime(text string) bool {
	for _, layout := range timeLayouts {
		t, err := time.Parse(layout, text)
		if err != nil {
			continue
		}
		s, ns := t.Unix(), int64(0)
		switch {
		case t.IsZero():
			ns = math.MinInt64
		case s <= math.MinInt64/int64(time.Second):
			ns = math.MinInt64 + 1
		case s >= math.MaxInt64/int64(time.Second):
			ns = math.MaxInt64
		default:
			ns = t.UnixNano()
		}
		k.Literal = text
		k.set(Time, ns)
		return true
	}
	return false
}

// setAddress makes k the address that text denotes.
func (k *Constant) setAddress(text string) bool {
	a, err := netip.ParseAddr(text)
	if err != nil || a.Zone() != "" {
		return false
	}
	k.Kind, k.Literal = Address, string(a.AsSlice())
	return true
}

// as returns k as a constant of kind, which may be written as a string.
func (k *Constant) as(kind Kind) (Constant, bool) {
	out := *k
	if k.Kind != String {
		return out, k.Kind == kind || k.Kind == Int && kind != Address
	}
	switch kind {
	case Duration:
		d, err := time.ParseDuration(k.Literal)
		out.set(Duration, int64(d))
		return out, err == nil
	case Time:
		return out, out.setTime(k.Literal)
	}
	return out, out.setAddress(k.Literal)
}
