package event

import (
	"net/netip"
	"time"

	"github.com/go-usdt/usdt/event/args"
	"github.com/go-usdt/usdt/reader"
)

// meaningOfInt returns the [time.Duration] or [time.Time] that n stands for, or n
// itself.
func meaningOfInt(m reader.Meaning, n int64) (any, error) {
	switch m {
	case reader.Duration:
		return time.Duration(n), nil
	case reader.Time:
		return args.Time(n)
	}
	return n, nil
}

// addressOf returns the [netip.Addr] that b stands for, and reports whether there is
// one.
func addressOf(m reader.Meaning, b []byte) (netip.Addr, bool) {
	if m != reader.Address && m != reader.NetIP {
		return netip.Addr{}, false
	}
	a, ok := args.Address(b)
	if m == reader.NetIP {
		a = a.Unmap()
	}
	return a, ok
}
