//go:build linux

package provider_test

import (
	"fmt"
	"testing"

	"github.com/go-usdt/usdt/provider"
)

// TestEnabledSeesEach watches the probes of providers of different sizes one by one,
// and checks that Enabled of the provider and of its group misses none and sees none
// of a neighbour.
func TestEnabledSeesEach(t *testing.T) {
	for _, n := range []int{1, 2, 7, 8, 9, 10, 16, 64, 65, 1000} {
		p := newProvider(fmt.Sprint("each", n))
		for i := range n {
			provider.NewProbe0(p, fmt.Sprint("probe", i))
		}
		g := p.Group("g")
		provider.NewProbe0(g, "grouped")
		load(t, p)
		for i := range n {
			name := fmt.Sprint("probe", i)
			provider.WatchOne(p, name, 1)
			if !p.Enabled() || g.Enabled() {
				t.Errorf("%s of %d is watched: the provider is enabled: %v, the group: %v", name, n, p.Enabled(), g.Enabled())
			}
			provider.WatchOne(p, name, -1)
			if p.Enabled() {
				t.Fatalf("no probe of %d is watched: the provider is enabled", n)
			}
		}
		// Behind a second Load, the group has a semaphore in each of two objects.
		provider.NewProbe0(g, "later")
		load(t, p)
		for _, name := range []string{"grouped", "later"} {
			provider.WatchOne(p, name, 1)
			if !p.Enabled() || !g.Enabled() {
				t.Errorf("%s is watched: the provider is enabled: %v, the group: %v", name, p.Enabled(), g.Enabled())
			}
			provider.WatchOne(p, name, -1)
			if p.Enabled() || g.Enabled() {
				t.Errorf("%s is watched no more: the provider is enabled: %v, the group: %v", name, p.Enabled(), g.Enabled())
			}
		}
		if err := p.Close(); err != nil || p.Enabled() || g.Enabled() {
			t.Errorf("Close: %v; the provider is enabled: %v, the group: %v", err, p.Enabled(), g.Enabled())
		}
	}
}
