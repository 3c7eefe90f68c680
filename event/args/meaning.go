package args

import (
	"errors"
	"net/netip"
	"time"

	"github.com/go-usdt/usdt/notes"
)

// Errors that say why a time is not the one that the program had.
var (
	errEarly = errors.New("the time is this or before")
	errLate  = errors.New("the time is this or later")
)

// Time returns the time for which ns stands, a notes.TimeType, in UTC. The error says
// that it is the first or the last such time, and that the program's may lie beyond.
func Time(ns int64) (time.Time, error) {
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

// Address returns the IP address in 4 or 16 bytes, the zero one for none, and reports
// whether there is one in bytes of this number.
func Address(b []byte) (a netip.Addr, ok bool) {
	a, ok = netip.AddrFromSlice(b)
	return a, ok || len(b) == 0
}
