package notes_test

import (
	"net/netip"
	"testing"

	"github.com/go-usdt/usdt/notes"
)

func TestGoTime(t *testing.T) {
	for _, test := range []struct {
		wall uint64
		ext  int64
		want int64
	}{
		{0, 0, notes.ZeroTime},
		{1, 0, notes.MinTime},
		{0, -notes.GoYear1, 0},
		{999_999_999, -notes.GoYear1 - 1, -1},
		{1<<63 | (-notes.GoYear1885+5)<<30 | 7, -1, 5e9 + 7},
		{1<<63 | (1<<33-1)<<30, 0, (1<<33 - 1 + notes.GoYear1885) * 1e9},
		{0, 1 << 62, notes.MaxTime},
		{0, -1 << 62, notes.MinTime},
		{0, -1 << 63, notes.MaxTime}, // wraps, as in package time
	} {
		if got := notes.GoTime(test.wall, test.ext); got != test.want {
			t.Errorf("words %#x, %d: %d, want %d", test.wall, test.ext, got, test.want)
		}
	}
}

func TestGoAddr(t *testing.T) {
	for _, test := range []struct {
		high, low, z uint64
		want         string
	}{
		{1, 2, 0, "invalid IP"},
		{0, 0xffff_0a00_0001, 4, "10.0.0.1"},
		{0, 0xffff_0a00_0001, 6, "::ffff:10.0.0.1"},
		{0x2001_0db8 << 32, 7, 6, "2001:db8::7"},
	} {
		b, n := notes.GoAddr(test.high, test.low, test.z, 4)
		if a, _ := netip.AddrFromSlice(b[:n]); a.String() != test.want {
			t.Errorf("words %#x, %#x, %d: %v, want %s", test.high, test.low, test.z, a, test.want)
		}
	}
}
