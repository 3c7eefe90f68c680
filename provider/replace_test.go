//go:build linux

package provider_test

import (
	"bytes"
	"debug/elf"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/provider"
)

// probesOf returns the number of notes for each probe in p's objects.
func probesOf(t *testing.T, p *provider.Provider) map[string]int {
	t.Helper()
	found := map[string]int{}
	for _, object := range objects(t, p) {
		f, err := elf.NewFile(bytes.NewReader(object))
		if err != nil {
			t.Fatal(err)
		}
		data, err := f.Section(notes.SectionName).Data()
		if err != nil {
			t.Fatal(err)
		}
		for n, err := range notes.All(data, f.ByteOrder, notes.Class(f.Class)) {
			if err != nil {
				t.Fatal(err)
			}
			found[n.Name]++
		}
	}
	return found
}

// TestManyLoads declares and loads 1,000 times, and checks that the process keeps few
// descriptors and mappings and that each probe has one site.
func TestManyLoads(t *testing.T) {
	n := 1000
	if testing.Short() {
		n = 100
	}
	p := fresh("loads", nil) // mapped: what the dynamic linker has loaded stays
	g := p.Group("all")
	load(t, p)
	fds, mapped, _ := usage(t)
	var probes []*provider.Probe1[int]
	for i := range n {
		var in provider.Scope = p
		if i%2 == 1 {
			in = g
		}
		probes = append(probes, provider.NewProbe1[int](in, fmt.Sprint("probe", i), "i"))
		load(t, p)
	}
	fds2, mapped2, _ := usage(t)
	if fds2 > fds+8 || mapped2 > mapped+60 {
		t.Errorf("after %d Loads: %d descriptors and %d mappings, before: %d and %d", n, fds2, mapped2, fds, mapped)
	}
	found := probesOf(t, p)
	for i, probe := range probes {
		name := fmt.Sprint("probe", i)
		if found[name] != 1 {
			t.Errorf("%s has %d notes, want 1", name, found[name])
		}
		provider.WatchOne(p, name, 1)
		if !probe.Enabled() || !p.Enabled() || g.Enabled() != (i%2 == 1) {
			t.Fatalf("with %s watched: probe %v, provider %v, group %v", name, probe.Enabled(), p.Enabled(), g.Enabled())
		}
		probe.Fire(i)
		provider.WatchOne(p, name, -1)
	}
	if p.Enabled() || g.Enabled() {
		t.Error("enabled though nobody watches")
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if p.Enabled() || g.Enabled() || probes[0].Enabled() {
		t.Error("enabled after Close")
	}
}

// TestLoadsWhileWatched loads again and again while a tracer watches every probe that
// it finds, and checks that each Load adds an object and that the first one after the
// tracer has gone merges them. Objects that the dynamic linker has loaded stay.
func TestLoadsWhileWatched(t *testing.T) {
	const n = 20
	p := newProvider("watched")
	fds, _, _ := usage(t)
	var probes []*provider.Probe1[int]
	for i := range n {
		probes = append(probes, provider.NewProbe1[int](p, fmt.Sprint("probe", i), "i"))
		load(t, p)
		provider.WatchOne(p, fmt.Sprint("probe", i), 1)
	}
	if got := len(objects(t, p)); got != n {
		t.Fatalf("%d objects after %d Loads of which all are watched", got, n)
	}
	provider.Watch(p, -1)
	provider.NewProbe0(p, "last")
	load(t, p)
	want, more := 1, 1
	if *loader == "dlopen" {
		want, more = n+1, n+1
	}
	if got := len(objects(t, p)); got != want {
		t.Errorf("%d objects after the tracer has gone, want %d", got, want)
	}
	if fds2, _, _ := usage(t); fds2 > fds+more {
		t.Errorf("%d descriptors, before: %d, want %d more", fds2, fds, more)
	}
	for i, probe := range probes {
		name := fmt.Sprint("probe", i)
		provider.WatchOne(p, name, 1)
		if !probe.Enabled() || !p.Enabled() {
			t.Errorf("%s is watched: probe %v, provider %v", name, probe.Enabled(), p.Enabled())
		}
		provider.WatchOne(p, name, -1)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// TestReplacedEvents checks that an events directory shows each probe once, at its
// present address.
func TestReplacedEvents(t *testing.T) {
	opts := options()
	opts.EventsDir = filepath.Join(t.TempDir(), "events")
	p := fresh("shown", opts)
	for i := range 12 {
		provider.NewProbe0(p, fmt.Sprint("probe", i))
		load(t, p)
	}
	addresses := map[string]bool{}
	for i := range 12 {
		b, err := os.ReadFile(filepath.Join(opts.EventsDir, fmt.Sprint(os.Getpid()), "shown", fmt.Sprint("probe", i), "address"))
		if err != nil {
			t.Fatal(err)
		}
		addresses[strings.TrimSpace(string(b))] = true
	}
	want := map[string]bool{}
	for _, a := range provider.Sites(p) {
		want[fmt.Sprintf("%#x", a)] = true
	}
	if len(want) != 12 || !maps.Equal(addresses, want) {
		t.Errorf("shown at %v, are at %v", addresses, want)
	}
}

// TestWatchedStays checks that a watched probe keeps its object while others come and
// go, and moves once it is no longer watched.
func TestWatchedStays(t *testing.T) {
	p := fresh("staying", nil) // also mapped
	watched := provider.NewProbe0(p, "watched")
	load(t, p)
	first := string(objects(t, p)[0])
	provider.WatchOne(p, "watched", 1)
	more := func(from int) {
		for i := range 20 {
			provider.NewProbe0(p, fmt.Sprint("probe", from+i))
			load(t, p)
			if !p.Enabled() && from == 0 {
				t.Fatalf("after %d more Loads the provider is enabled no more", i+1)
			}
		}
	}
	more(0)
	has := func() (is bool) {
		for _, o := range objects(t, p) {
			is = is || string(o) == first
		}
		return is
	}
	if !has() || !watched.Enabled() {
		t.Errorf("the object of the watched probe: still there %v; enabled %v", has(), watched.Enabled())
	}
	if n := len(objects(t, p)); n > 4 {
		t.Errorf("%d objects beside a watched one", n-1)
	}
	provider.WatchOne(p, "watched", -1)
	more(20)
	if found := probesOf(t, p); has() || found["watched"] != 1 || len(found) != 41 {
		t.Errorf("when nobody watches: its first object is still there %v; its notes %d, want 1; %d probes, want 41", has(), found["watched"], len(found))
	}
}

// TestWatchedMeanwhile checks that a tracer that attaches while its object is being
// replaced keeps the probe.
func TestWatchedMeanwhile(t *testing.T) {
	p := newProvider("meanwhile")
	a, b := provider.NewProbe0(p, "a"), provider.NewProbe0(p, "b")
	load(t, p)
	if err := provider.ReplaceWatched(p, "a"); err != nil {
		t.Fatal(err)
	}
	if !a.Enabled() || b.Enabled() || !p.Enabled() {
		t.Errorf("with a watched: a %v, b %v, provider %v", a.Enabled(), b.Enabled(), p.Enabled())
	}
	provider.WatchOne(p, "a", -1)
	if a.Enabled() || p.Enabled() {
		t.Error("enabled though nobody watches")
	}
}

// TestEnabledWhileLoading checks that Enabled of probes, groups and providers never
// misses a watched probe while others are declared, loaded, watched and closed.
func TestEnabledWhileLoading(t *testing.T) {
	p := newProvider("looking")
	g := p.Group("all")
	always := provider.NewProbe0(g, "always")
	other := provider.NewProbe2[int, string](p, "other", "n", "text")
	load(t, p)
	provider.WatchOne(p, "always", 1)
	var wg sync.WaitGroup
	var done atomic.Bool
	for range 4 {
		wg.Go(func() {
			for i := 0; !done.Load(); i++ {
				if !always.Enabled() || !g.Enabled() || !p.Enabled() {
					t.Errorf("probe %v, group %v, provider %v, but the probe is watched", always.Enabled(), g.Enabled(), p.Enabled())
					return
				}
				always.Fire()
				other.Fire(i, "text")
			}
		})
	}
	for i := range 50 {
		name := fmt.Sprint("probe", i)
		provider.NewProbe0(g, name)
		load(t, p)
		provider.WatchOne(p, "other", 1-i%2*2) // on, off, …
	}
	done.Store(true)
	wg.Wait()
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if always.Enabled() || g.Enabled() || p.Enabled() {
		t.Error("enabled after Close")
	}
}

// TestEnabledMany checks that Enabled looks at each of many semaphores, wherever they
// begin and end, and at nothing beside them.
func TestEnabledMany(t *testing.T) {
	for _, n := range []int{1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 40} {
		p := newProvider(fmt.Sprint("many", n))
		for i := range n {
			provider.NewProbe0(p, fmt.Sprint("probe", i))
		}
		load(t, p)
		if p.Enabled() {
			t.Errorf("%d probes: enabled though nobody watches", n)
		}
		for i := range n {
			provider.WatchOne(p, fmt.Sprint("probe", i), 1)
			if !p.Enabled() {
				t.Errorf("%d probes, number %d is watched: not enabled", n, i)
			}
			provider.WatchOne(p, fmt.Sprint("probe", i), -1)
		}
	}
}
