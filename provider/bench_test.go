//go:build linux

package provider_test

import (
	"testing"

	"github.com/go-usdt/usdt/provider"
)

func BenchmarkFireUnwatched(b *testing.B) {
	p := provider.New("bench", nil)
	probe := provider.NewProbe3[uint64, string, float64](p, "three", "a", "b", "c")
	probe6 := provider.NewProbe6[uint64, string, float64, int, []byte, string](p, "six", "a", "b", "c", "d", "e", "f")
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
	b.Run("enabled", func(b *testing.B) {
		for range b.N {
			if probe.Enabled() {
				b.Fatal("enabled")
			}
		}
	})
}

// BenchmarkFireRaised is Fire with a raised semaphore and nobody attached: all
// that this package adds to the kernel's cost.
func BenchmarkFireRaised(b *testing.B) {
	p := newProvider("raised")
	ints := provider.NewProbe3[uint64, uint64, uint64](p, "ints", "a", "b", "c")
	text := provider.NewProbe3[uint64, string, uint64](p, "text", "a", "b", "c")
	load(b, p)
	provider.Watch(p, 1)
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
