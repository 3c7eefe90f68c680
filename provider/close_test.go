//go:build linux

package provider_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"testing"

	"github.com/go-usdt/usdt/provider"
)

func TestClose(t *testing.T) {
	p := newProvider("closing")
	probe := provider.NewProbe1[string](p, "a", "x")
	load(t, p)
	provider.Watch(p, 1)
	if err := errors.Join(p.Close(), p.Close()); err != nil {
		t.Error(err)
	}
	if probe.Enabled() {
		t.Error("enabled after Close")
	}
	probe.Fire("x")
	late := provider.NewProbe0(p, "late")
	load(t, p)
	provider.Watch(p, 1)
	if !probe.Enabled() || !late.Enabled() {
		t.Error("after Close, Load does not publish all probes again")
	}
	probe.Fire("x")
	late.Fire()
}

// TestCloseWhileFiring closes providers while 8 goroutines enter their stubs as fast
// as they can, and lets others use their address space at once.
func TestCloseWhileFiring(t *testing.T) {
	for range 20 {
		p := newProvider("busy")
		ints := provider.NewProbe3[int, int, int](p, "ints", "a", "b", "c")
		text := provider.NewProbe2[string, []byte](p, "text", "s", "b")
		load(t, p)
		provider.Watch(p, 1)
		var wg sync.WaitGroup
		started := make(chan struct{}, 8)
		for range 8 {
			wg.Go(func() {
				started <- struct{}{}
				for i := 0; ints.Enabled() || text.Enabled(); i++ {
					ints.Fire(i, i, i)
					text.Fire("text", []byte("bytes"))
				}
			})
		}
		for range 8 {
			<-started
		}
		// Another provider takes the address space as soon as it is free.
		wg.Go(func() {
			q := newProvider("next")
			provider.NewProbe1[int](q, "only", "x")
			for range 5 {
				if err := q.Load(); err != nil {
					t.Error(err)
				}
				q.Close()
				q = newProvider("next")
				provider.NewProbe1[int](q, "only", "x")
			}
		})
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		wg.Wait()
	}
}

// TestNoGrowth loads and closes 10,000 times, with objects of different sizes.
func TestNoGrowth(t *testing.T) {
	if testing.Short() {
		t.Skip("short: it loads many times, and no kernel makes a difference")
	}
	cycle := func(i int) {
		p := newProvider("cycle")
		for j := range 1 + i%7*8 {
			provider.NewProbe2[int, string](p, fmt.Sprintf("p%d", j), "a", "b")
		}
		if err := p.Load(); err != nil {
			t.Fatal(err)
		}
		provider.Watch(p, 1)
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 100 {
		cycle(i)
	}
	fds, maps, rss := usage(t)
	n := 10_000
	if testing.Short() {
		n = 500
	}
	for i := range n {
		cycle(i)
	}
	fds2, maps2, rss2 := usage(t)
	// The Go heap may still be growing to its steady state. A leaked page per cycle
	// would be 40 MiB (the heap adds 0.1, with the race detector some 15).
	if fds2 > fds || maps2 > maps || rss2 > rss+32<<20 {
		t.Errorf("after %d cycles: %d fds, %d mappings, %d KiB resident; before: %d, %d, %d", n, fds2, maps2, rss2>>10, fds, maps, rss>>10)
	}
}

// usage returns the number of the process's open files, of its mappings, and of its
// resident bytes.
func usage(t *testing.T) (fds, maps, rss int) {
	t.Helper()
	runtime.GC()
	dir, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	m, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	s, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	var size, resident int
	if _, err := fmt.Sscan(string(s), &size, &resident); err != nil {
		t.Fatal(err)
	}
	// Count what this package maps: objects, and memory that reads as zero in their
	// place. Go's allocator, the race detector and threads map and split other memory
	// without a file.
	for line := range bytes.Lines(m) {
		f := bytes.Fields(line)
		if len(f) > 5 || string(f[1]) == "r--p" {
			maps++
		}
	}
	return len(dir), maps, resident * os.Getpagesize()
}
