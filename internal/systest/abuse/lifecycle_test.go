package abuse_test

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/provider"
)

// generation is a provider that lives for a moment.
type generation struct {
	provider *provider.Provider
	number   uint64
	hit      *provider.Probe3[uint64, uint64, string]
	late     atomic.Pointer[provider.Probe2[uint64, uint64]]
}

func newGeneration(number uint64) (*generation, error) {
	p := provider.New(fmt.Sprint("lifecycle", number), nil) // the previous provider is still loaded
	g := &generation{provider: p, number: number}
	g.hit = provider.NewProbe3[uint64, uint64, string](p, "hit", "generation", "n", "text")
	for i := range number % 5 * 40 { // objects of different sizes
		provider.NewProbe0(p, fmt.Sprint("other", i))
	}
	return g, p.Load()
}

// loadLate publishes one more probe of a generation that is being fired.
func (g *generation) loadLate() error {
	late := provider.NewProbe2[uint64, uint64](g.provider, "late", "generation", "n")
	g.late.Store(late)
	return g.provider.Load()
}

func (g *generation) fire(n uint64) {
	g.hit.Fire(g.number, n, fmt.Sprint(g.number, "/", n))
	if late := g.late.Load(); late != nil {
		late.Fire(g.number, n)
	}
}

// TestLifecycle fires from six goroutines while their providers are loaded,
// loaded again and closed, while sessions that look for new probes come and go,
// and while garbage is collected.
func TestLifecycle(t *testing.T) {
	needs.Root(t)
	first, err := newGeneration(0)
	if err != nil {
		t.Fatal(err)
	}
	var current atomic.Pointer[generation]
	current.Store(first)
	var stop atomic.Bool
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			for n := uint64(0); !stop.Load(); n++ {
				current.Load().fire(n)
				if n%64 == 0 {
					time.Sleep(50 * time.Microsecond) // the others also need the processor
				}
			}
		})
	}
	wg.Go(func() {
		for !stop.Load() {
			runtime.GC()
			time.Sleep(5 * time.Millisecond)
		}
	})
	var generations uint64
	var traced atomic.Uint64 // the generation of the last event
	wg.Go(func() {
		for number := uint64(1); !stop.Load(); number++ {
			next, err := newGeneration(number)
			if err != nil {
				t.Error(err)
				return
			}
			// Close it while all goroutines fire it and it is traced.
			err = current.Load().provider.Close()
			current.Store(next)
			for end := time.Now().Add(3 * time.Second); traced.Load() != number && time.Now().Before(end); {
				time.Sleep(time.Millisecond)
			}
			if err := errors.Join(err, next.loadLate()); err != nil {
				t.Error(err)
				return
			}
			time.Sleep(5 * time.Millisecond)
			generations = number
		}
	})

	// 4 s, and as much longer as a slow machine takes to see ten of them.
	events, seen := 0, map[uint64]bool{}
	for start := time.Now(); !t.Failed(); {
		events += watchGenerations(t, seen, &traced)
		if d := time.Since(start); d > 4*time.Second && len(seen) >= 10 || d > time.Minute {
			break
		}
	}
	stop.Store(true)
	wg.Wait()
	if err := current.Load().provider.Close(); err != nil {
		t.Error(err)
	}
	t.Logf("%d generations, %d of them seen in %d events", generations, len(seen), events)
	if len(seen) < 10 {
		t.Errorf("events of %d generations of %d", len(seen), generations)
	}
}

// watchGenerations reads some events of the live generations, and checks that
// each is complete.
func watchGenerations(t *testing.T, seen map[uint64]bool, traced *atomic.Uint64) (events int) {
	s, err := attach.Open(t.Context(), []string{"lifecycle*:*"}, &attach.Options{Target: attach.Target{PIDs: []int{os.Getpid()}}, Rescan: 5 * time.Millisecond, Await: true})
	if err != nil {
		// A provider that was found may be closed before it is attached to.
		if !errors.Is(err, attach.ErrNoSite) {
			t.Error(err)
		}
		return 0
	}
	timer := time.AfterFunc(300*time.Millisecond, func() { s.Stop() })
	defer timer.Stop()
	for ev, err := range s.Events() {
		if err != nil {
			t.Error(err)
			break
		}
		generation, ok := ev.Args[0].Value.(uint64)
		n, ok2 := ev.Args[1].Value.(uint64)
		if !ok || !ok2 || ev.Name == "hit" && ev.Args[2].Value != fmt.Sprint(generation, "/", n) {
			t.Errorf("%s: %v", ev.Name, ev.Args)
			break
		}
		seen[generation] = true
		traced.Store(generation)
		events++
	}
	finish(t, s)
	return events
}
