//go:build !usdt_nolocal

package provider_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/provider"
)

// TestLoadAndCloseAtOnce loads, closes and declares in several goroutines, by random turns,
// and checks after each round that what is loaded is offered, and nothing else; that Close
// then withdraws all; and that Load then publishes all.
func TestLoadAndCloseAtOnce(t *testing.T) {
	if cmd := tracee.Again(t); cmd != nil { // LoadAll is for all providers
		tracee.Pass(t, cmd)
		return
	}
	rounds := 1000
	if raced || testing.Short() {
		rounds = 200
	}
	opts := &provider.Options{Local: true}
	var providers []*provider.Provider
	for i := range 2 {
		p := provider.New(fmt.Sprint("atonce", i), opts)
		provider.NewProbe0(p, "probe")
		providers = append(providers, p)
	}
	try := func(err error) {
		if err != nil {
			t.Error(err)
		}
	}
	declared := 0
	for round := range rounds {
		var wg sync.WaitGroup
		for range 4 {
			p := providers[rand.N(len(providers))]
			switch n := rand.N(16); {
			case n == 0:
				wg.Go(func() { try(provider.LoadAll(opts)) })
			case n == 1:
				wg.Go(func() { try(provider.CloseAll()) })
			case n == 2 && declared < 100:
				declared++
				name := fmt.Sprint("late", declared)
				wg.Go(func() { provider.NewProbe0(p, name).Fire() })
			case n < 9:
				wg.Go(func() { try(p.Load()) })
			default:
				wg.Go(func() { try(p.Close()) })
			}
		}
		wg.Wait()
		for _, p := range providers {
			if loaded, offered := provider.Offers(p); loaded != offered {
				t.Fatalf("round %d: %s ended loaded %v, offered %v", round, p.Name(), loaded, offered)
			}
		}
	}
	for _, want := range []bool{false, true} {
		if want {
			try(provider.LoadAll(opts))
		} else {
			try(provider.CloseAll())
		}
		probes := 0
		for _, p := range providers {
			if loaded, offered := provider.Offers(p); loaded != want || offered != want {
				t.Errorf("%s: loaded %v, offered %v, want %v", p.Name(), loaded, offered, want)
			}
			_, n := provider.Loaded(p)
			probes += n
		}
		if want && probes != declared+len(providers) {
			t.Errorf("%d probes are loaded, want %d", probes, declared+len(providers))
		}
	}
	try(provider.CloseAll())
}
