//go:build linux

package provider_test

import (
	"fmt"
	"net/netip"
	"os"
	"testing"

	"github.com/go-usdt/usdt/provider"
)

func BenchmarkFireUnwatched(b *testing.B) {
	p := fresh("bench", nil)
	probe := provider.NewProbe3[uint64, string, float64](p, "three", "a", "b", "c")
	probe6 := provider.NewProbe6[uint64, string, float64, int, []byte, string](p, "six", "a", "b", "c", "d", "e", "f")
	texts := provider.NewProbe3[uint64, provider.Text, provider.Text](p, "texts", "a", "b", "c")
	address := provider.NewProbe2[uint64, provider.IP](p, "address", "a", "b")
	if err := p.Load(); err != nil {
		b.Fatal(err)
	}
	defer p.Close()
	b.Run("empty", func(b *testing.B) {
		for i := range b.N {
			_ = i
		}
	})
	s := "hello"
	b.Run("three", func(b *testing.B) {
		b.ReportAllocs()
		for i := range b.N {
			probe.Fire(uint64(i), s, 1.5)
		}
	})
	b.Run("six", func(b *testing.B) {
		b.ReportAllocs()
		by := make([]byte, 16)
		for i := range b.N {
			probe6.Fire(uint64(i), s, 1.5, i, by, s)
		}
	})
	b.Run("lazy", func(b *testing.B) {
		b.ReportAllocs()
		for i := range b.N {
			probe.FireFunc(func() (uint64, string, float64) { return uint64(i), s + s, 1.5 })
		}
	})
	b.Run("text", func(b *testing.B) {
		b.ReportAllocs()
		for i := range b.N {
			texts.Fire(uint64(i), provider.Error(os.ErrClosed), provider.Stringer(level(i)))
		}
	})
	b.Run("address", func(b *testing.B) {
		b.ReportAllocs()
		addr := netip.MustParseAddr("10.0.0.1")
		for i := range b.N {
			address.Fire(uint64(i), provider.Addr(addr))
		}
	})
	b.Run("enabled", func(b *testing.B) {
		for range b.N {
			if probe.Enabled() {
				b.Fatal("enabled")
			}
		}
	})
}

// BenchmarkEnabled measures Enabled of probes, groups and providers beside an empty
// loop. The provider and the group named later have probes in the objects of two
// Loads.
func BenchmarkEnabled(b *testing.B) {
	type named struct {
		name string
		*provider.Provider
	}
	var providers []named
	for _, n := range []int{1, 8, 64, 1000} {
		p := newProvider(fmt.Sprint("of", n))
		for i := range n {
			provider.NewProbe0(p, fmt.Sprint("probe", i))
		}
		load(b, p)
		providers = append(providers, named{fmt.Sprint("provider-", n), p})
	}
	probe, later := provider.NewProbe0(newProvider("one"), "probe"), newProvider("later")
	one, two := newProvider("grouped").Group("one"), later.Group("two")
	provider.NewProbe0(one, "in")
	provider.NewProbe0(two, "first")
	load(b, provider.New("one", nil))
	load(b, provider.New("grouped", nil))
	load(b, later)
	provider.NewProbe0(two, "second")
	load(b, later)
	b.Run("empty", func(b *testing.B) {
		for i := range b.N {
			_ = i
		}
	})
	b.Run("probe", func(b *testing.B) {
		for range b.N {
			if probe.Enabled() {
				b.Fatal("enabled")
			}
		}
	})
	for _, g := range []struct {
		name string
		*provider.Group
	}{{"group", one}, {"group-later", two}} {
		b.Run(g.name, func(b *testing.B) {
			group := g.Group
			for range b.N {
				if group.Enabled() {
					b.Fatal("enabled")
				}
			}
		})
	}
	for _, of := range append(providers, named{"provider-later", later}) {
		b.Run(of.name, func(b *testing.B) {
			p := of.Provider
			for range b.N {
				if p.Enabled() {
					b.Fatal("enabled")
				}
			}
		})
	}
}

// BenchmarkFireRaised measures Fire with a raised semaphore and no tracer attached:
// all that this package adds to the kernel's cost.
func BenchmarkFireRaised(b *testing.B) {
	p := newProvider("raised")
	ints := provider.NewProbe3[uint64, uint64, uint64](p, "ints", "a", "b", "c")
	text := provider.NewProbe3[uint64, string, uint64](p, "text", "a", "b", "c")
	record := provider.NewStructProbe[request](p, "record")
	load(b, p)
	provider.Watch(p, 1)
	b.Run("record", func(b *testing.B) {
		b.ReportAllocs()
		var r request
		for range b.N {
			record.Fire(&r)
		}
	})
	b.Run("integers", func(b *testing.B) {
		b.ReportAllocs()
		for i := range uint64(b.N) {
			ints.Fire(i, i, i)
		}
	})
	b.Run("string", func(b *testing.B) {
		b.ReportAllocs()
		for i := range uint64(b.N) {
			text.Fire(i, "sixteen bytes ok", i)
		}
	})
}
