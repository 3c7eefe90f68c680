//go:build linux

package provider_test

import (
	"net/netip"
	"runtime"
	"testing"

	"github.com/go-usdt/usdt/provider"
)

// TestAddrNoAllocs checks that an address allocates nothing, watched or not.
func TestAddrNoAllocs(t *testing.T) {
	p := newProvider("addrallocs")
	probe := provider.NewProbe6[provider.IP, provider.IP, provider.IP, provider.IP, provider.IP, provider.IP](p, "six", "a", "b", "c", "d", "e", "f")
	load(t, p)
	v6 := netip.MustParseAddr("2001:db8::7%eth0")
	fire := func() {
		a := netip.AddrFrom4([4]byte{10, 0, 0, byte(runtime.NumGoroutine())})
		probe.Fire(provider.Addr(a), provider.Addr(v6), provider.IP{}, provider.Addr(a.Next()), provider.Addr(netip.Addr{}), provider.Addr(a))
	}
	if n := testing.AllocsPerRun(1000, fire); n != 0 {
		t.Errorf("unwatched: %v allocations, want 0", n)
	}
	provider.Watch(p, 1)
	if n := testing.AllocsPerRun(1000, fire); n != 0 {
		t.Errorf("watched: %v allocations, want 0", n)
	}
}
