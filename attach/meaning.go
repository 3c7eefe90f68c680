package attach

import (
	"errors"
	"math"
	"net/netip"
	"time"

	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// Why a time is not what the program had.
var (
	errEarly = errors.New("the time is this or before")
	errLate  = errors.New("the time is this or later")
)

// meant returns what a number or bytes mean: a [time.Duration], a [time.Time] in
// UTC, a [netip.Addr], or v itself.
func meant(m reader.Meaning, v any) (any, error) {
	switch v := v.(type) {
	case int64:
		switch m {
		case reader.Duration:
			return time.Duration(v), nil
		case reader.Time:
			return timeOf(v)
		}
	case []byte:
		if m == reader.Address && len(v) == 0 {
			return netip.Addr{}, nil
		}
		if a, ok := netip.AddrFromSlice(v); ok && m == reader.Address {
			return a, nil
		}
	}
	return v, nil
}

// timeOf returns the time that stands for ns.
func timeOf(ns int64) (time.Time, error) {
	switch ns {
	case notes.ZeroTime:
		return time.Time{}, nil
	case notes.MinTime:
		return time.Unix(0, ns).UTC(), errEarly
	case notes.MaxTime:
		return time.Unix(0, ns).UTC(), errLate
	}
	return time.Unix(0, ns).UTC(), nil
}

// meant makes the group's numbers what they mean.
func (g *Group) meant(m reader.Meaning) {
	g.Meaning = m
	for _, v := range []*any{&g.Sum, &g.Min, &g.Max} {
		// What a time is not told for, the least and the greatest tell, too.
		*v, _ = meant(m, *v)
	}
	if avg, ok := g.Avg.(float64); ok && m == reader.Duration {
		g.Avg = time.Duration(math.Round(avg))
	}
}
