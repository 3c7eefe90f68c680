//go:build linux

package provider_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-usdt/usdt/provider"
)

// client is a library's client, whose constructor declares.
type client struct {
	get  *provider.Probe4[string, int, time.Duration, provider.Text]
	done *provider.StructProbe[clientDone]
}

type clientDone struct {
	ID   uint64
	Path string
}

func newClient() *client {
	p := provider.New("same_client", nil)
	return &client{
		provider.NewProbe4[string, int, time.Duration, provider.Text](p, "get_done", "key", "size", "took", "err"),
		provider.NewStructProbe[clientDone](p.Group("done"), "client_done"),
	}
}

// TestSameProbe checks that equal declarations, also by types that are defined from others,
// are handles on one probe, whether it is loaded or not.
func TestSameProbe(t *testing.T) {
	p := fresh("same_client", nil)
	var clients []*client
	for range 50 {
		clients = append(clients, newClient())
	}
	load(t, p)
	for range 50 {
		clients = append(clients, newClient())
	}
	type key string
	type size int
	defined := provider.NewProbe4[key, size, time.Duration, provider.Text](p, "get_done", "key", "size", "took", "err")
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	if got := probesOf(t, p); len(got) != 2 || got["get_done"] != 1 || got["client_done"] != 1 {
		t.Errorf("notes: %v, want one of each probe", got)
	}
	for range 2 {
		provider.Watch(p, 1)
		for i, c := range clients {
			if !c.get.Enabled() || !c.done.Enabled() || !defined.Enabled() {
				t.Fatalf("handle %d is not enabled", i)
			}
		}
		// Probes declared before Close fire after the next Load.
		if err := p.Close(); err != nil || clients[0].get.Enabled() {
			t.Fatalf("Close: %v", err)
		}
		again := newClient()
		load(t, p)
		clients = append(clients, again)
	}
}

// TestSameProbeCosts checks what declaring a probe allocates that is declared already;
// BenchmarkDeclareAgain has the time.
func TestSameProbeCosts(t *testing.T) {
	fresh("same_client", nil)
	newClient()
	p := provider.New("same_client", nil)
	declare := func() {
		provider.NewProbe4[string, int, time.Duration, provider.Text](p, "get_done", "key", "size", "took", "err")
	}
	if n := testing.AllocsPerRun(100, declare); n > 2 {
		t.Errorf("%v allocations, want at most 2", n)
	}
}

// cache is a generic type whose instances declare probes of one name.
type cache[K provider.Arg] struct{ hit *provider.Probe1[K] }

func newCache[K provider.Arg](in provider.Scope) cache[K] {
	return cache[K]{provider.NewProbe1[K](in, "hit", "key")}
}

// TestBeside checks that declarations of one name that differ, in their arguments or their
// group, are probes of their own.
func TestBeside(t *testing.T) {
	opts := options()
	opts.EventsDir = filepath.Join(t.TempDir(), "events")
	p := fresh("beside", opts)
	a, b := newCache[string](p), newCache[int](p)
	named := provider.NewProbe1[int](p, "hit", "number")
	record := provider.NewStructProbe[struct{ Key int }](p, "hit")
	none := provider.NewProbe0(p, "hit")
	grouped := newCache[int](p.Group("g"))
	other := provider.NewProbe0(p.Group("g"), "other")
	provider.NewProbe0(p, "alone")
	load(t, p)
	if got := probesOf(t, p); got["hit"] != 6 || got["other"] != 1 {
		t.Errorf("notes: %v, want 6 of hit and one of each other probe", got)
	}
	if err := check(objects(t, p)[0]); err != nil {
		t.Error(err)
	}
	sites := provider.Sites(p)
	slices.Sort(sites)
	if n := len(slices.Compact(sites)); n != 8 {
		t.Errorf("%d sites, want 8", n)
	}
	names, err := os.ReadDir(filepath.Join(opts.EventsDir, fmt.Sprint(os.Getpid()), "beside"))
	if err != nil || len(names) != 8 {
		t.Errorf("shown: %v (%v), want 8", names, err)
	}
	// As in C, a name has one semaphore.
	provider.WatchFirst(p, "hit", 1)
	enabled := []bool{a.hit.Enabled(), b.hit.Enabled(), named.Enabled(), record.Enabled(), none.Enabled(), grouped.hit.Enabled(), other.Enabled(), p.Group("g").Enabled()}
	if !reflect.DeepEqual(enabled, slices.Repeat([]bool{true}, 8)) {
		t.Errorf("with hit watched: enabled are %v, want all", enabled)
	}
	a.hit.Fire("x")
	b.hit.Fire(1)
	record.Fire(nil)
	provider.WatchFirst(p, "hit", -1)
	provider.WatchFirst(p, "alone", 1)
	if a.hit.Enabled() || grouped.hit.Enabled() || other.Enabled() || !p.Enabled() {
		t.Error("with another probe watched: enabled")
	}
}

// TestBesideInAnyOrder checks that probes of one name give the same object, in whatever
// order they are declared.
func TestBesideInAnyOrder(t *testing.T) {
	var first []byte
	for i := range 4 {
		p := newProvider("anyorder")
		declare := []func(){
			func() { newCache[string](p) }, func() { newCache[int](p) }, func() { newCache[int](p.Group("a")) },
			func() { newCache[int](p.Group("b")) }, func() { newCache[int](p.Group("")) }, func() { newCache[bool](p) },
		}
		for j := range declare {
			declare[(j*5+i)%len(declare)]()
		}
		load(t, p)
		object := objects(t, p)[0]
		if i == 0 {
			first = object
		}
		if !bytes.Equal(object, first) {
			t.Errorf("order %d makes another object", i)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestDeclareAtOnce declares equal and different probes in many goroutines, while the
// provider is loaded and closed.
func TestDeclareAtOnce(t *testing.T) {
	p := newProvider("atonce")
	t.Cleanup(func() { p.Close() })
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 100 {
				newCache[string](p).hit.Fire("x")
				newCache[int](p.Group(fmt.Sprint(i % 3))).hit.Fire(1)
				provider.NewProbe1[int](p, fmt.Sprint("own", g), "n").Fire(i)
				if g == 0 && i%10 == 0 {
					if err := p.Load(); err != nil {
						t.Error(err)
					}
				}
				if g == 1 && i%30 == 0 {
					if err := p.Close(); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	if got := probesOf(t, p); got["hit"] != 4 || len(got) != 9 {
		t.Errorf("notes: %v, want 4 of hit and one of each goroutine", got)
	}
}

func BenchmarkDeclareAgain(b *testing.B) {
	p := provider.New("same_client", nil)
	b.ReportAllocs()
	for b.Loop() {
		provider.NewProbe4[string, int, time.Duration, provider.Text](p, "get_done", "key", "size", "took", "err")
	}
}
