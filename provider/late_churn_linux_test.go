package provider_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/provider"
)

// TestLateChurn declares while others load and close, in many rounds: after the last Load, no
// probe is left unpublished, and a late one need not wait for what earlier ones waited for.
func TestLateChurn(t *testing.T) {
	if cmd := tracee.Again(t); cmd != nil { // LoadAll loads what other tests declared
		tracee.Pass(t, cmd)
		return
	}
	p := provider.New("latechurn", nil)
	defer provider.CloseAll()
	defer p.Close()
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	declared, best := 0, time.Hour
	for range 100 {
		var wg sync.WaitGroup
		for range 3 {
			first, n, order := declared, 1+r.IntN(4), r.Perm(4)
			declared += n
			wg.Go(func() {
				for i := range n {
					provider.NewProbe1[int](p, fmt.Sprint("probe", first+i), "n").Fire(i)
				}
			})
			wg.Go(func() {
				for _, step := range order {
					if err := []func() error{p.Load, func() error { return provider.LoadAll(nil) }, p.Close, provider.CloseAll}[step](); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if err := p.Load(); err != nil {
			t.Fatal(err)
		}
		if _, probes := provider.Loaded(p); probes != declared {
			t.Fatalf("seed %d: %d probes after Load, want %d", seed, probes, declared)
		}
		provider.NewProbe0(p, fmt.Sprint("late", declared))
		declared++
		best = min(best, published(t, p, declared))
	}
	if best > 10*time.Millisecond {
		t.Errorf("published after %v at best, want 10ms", best)
	}
}

// TestLateAfterMany closes a provider of which so many objects are watched that late
// declarations wait for long. After the next Load they wait no longer than others.
func TestLateAfterMany(t *testing.T) {
	p := newProvider("lateaftermany")
	load(t, p)
	for i := range 140 {
		provider.NewProbe0(p, fmt.Sprint("probe", i))
		load(t, p)
		provider.WatchAll(p)
	}
	time.Sleep(300 * time.Millisecond) // for which one of the last may wait, when fewer were watched
	provider.NewProbe0(p, "waits")
	time.Sleep(10 * time.Millisecond) // until its goroutine knows for how long
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	load(t, p)
	_, probes := provider.Loaded(p)
	provider.NewProbe0(p, "late")
	if took := published(t, p, probes+1); took > 5*time.Second {
		t.Errorf("published after %v", took)
	}
}
