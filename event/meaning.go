package event

import (
	"errors"
	"net/netip"
	"time"

	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// Errors that say why a time is not the one that the program had.
var (
	errEarly = errors.New("the time is this or before")
	errLate  = errors.New("the time is this or later")
)

// meaningOfInt returns the [time.Duration] or [time.Time] that n stands for, or n
// itself.
func meaningOfInt(m reader.Meaning, n int64) (any, error) {
	switch m {
	case reader.Duration:
		return time.Duration(n), nil
	case reader.Time:
		return timeOf(n)
	}
	return n, nil
}

// addressOf returns the [netip.Addr] that b stands for, and reports whether there is
// one.
func addressOf(m reader.Meaning, b []byte) (netip.Addr, bool) {
	if m != reader.Address && m != reader.NetIP {
		return netip.Addr{}, false
	}
	a, ok := netip.AddrFromSlice(b)
	if m == reader.NetIP {
		a = a.Unmap()
	}
	return a, ok || len(b) == 0
}

// timeOf returns the time that ns stands for.
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
