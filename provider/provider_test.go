//go:build linux

package provider_test

import (
	"bytes"
	"errors"
	"flag"
	"runtime"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/provider"
)

var loader = flag.String("loader", "map", "loader of the providers under test: map or dlopen")

// newProvider returns a provider with the loader that the flag names.
func newProvider(name string) *provider.Provider { return fresh(name, options()) }

// fresh returns a provider without the probes that other tests have declared.
func fresh(name string, opts *provider.Options) *provider.Provider {
	provider.Forget(name)
	return provider.New(name, opts)
}

func options() *provider.Options {
	opts := &provider.Options{}
	if *loader == "dlopen" {
		opts.Loader = provider.LoaderDlopen
	}
	return opts
}

func load(t testing.TB, p *provider.Provider) {
	t.Helper()
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
}

func TestDeclarationErrors(t *testing.T) {
	long := strings.Repeat("x", 64)
	for _, tt := range []struct {
		name    string
		declare func(*provider.Provider)
		want    string
	}{
		{"empty", func(p *provider.Provider) { provider.NewProbe0(p, "") }, ": probe name is empty"},
		{"long", func(p *provider.Provider) { provider.NewProbe0(p, long) }, "has 64 bytes, and perf accepts at most 63"},
		{"dash", func(p *provider.Provider) { provider.NewProbe0(p, "a-b") }, `probe name "a-b" is not a C identifier`},
		{"digit", func(p *provider.Provider) { provider.NewProbe0(p, "1a") }, `probe name "1a" is not a C identifier`},
		{"nul", func(p *provider.Provider) { provider.NewProbe0(p, "a\x00") }, `probe name "a\x00" is not a C identifier`},
		{"arg twice", func(p *provider.Provider) { provider.NewProbe2[int, int](p, "a", "x", "x") }, `argument name "x" is used twice`},
		{"hidden arg", func(p *provider.Provider) { provider.NewProbe1[int](p, "a", "__x") }, `argument name "__x" begins with __`},
		{"GNU keyword", func(p *provider.Provider) { provider.NewProbe1[int](p, "a", "asm") }, `argument name "asm" is a keyword of C`},
		{"keyword", func(p *provider.Provider) { provider.NewProbe1[int](p, "a", "default") }, `argument name "default" is a keyword of C`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newProvider("t")
			good := provider.NewProbe1[int](p, "good", "x")
			tt.declare(p)
			err := p.Load()
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Load: got %v, want an error with %q", err, tt.want)
			}
			t.Cleanup(func() { p.Close() })
			if n := len(objects(t, p)); n != 1 {
				t.Errorf("the good probes beside it: got %d objects, want 1", n)
			}
			good.Fire(1)
			if again := p.Load(); again == nil || again.Error() != err.Error() {
				t.Errorf("second Load: got %v, want %v again", again, err)
			}
		})
	}
	both := newProvider("a:b")
	provider.NewProbe0(both, "x y")
	if err := both.Load(); err == nil || !strings.Contains(err.Error(), "a:b") || !strings.Contains(err.Error(), "x y") {
		t.Errorf("a wrong provider and a wrong probe: got %v, want both named", err)
	}
	for _, name := range []string{"", "a:b", strings.Repeat("p", 60)} {
		if err := newProvider(name).Load(); err == nil || !strings.Contains(err.Error(), "provider name") {
			t.Errorf("provider %q: got %v, want an error about its name", name, err)
		}
	}
}

func TestNoProbes(t *testing.T) {
	p := newProvider("none")
	load(t, p)
	if n := len(objects(t, p)); n != 0 {
		t.Errorf("got %d objects, want none", n)
	}
}

func TestLoadLater(t *testing.T) {
	p := newProvider("later")
	provider.NewProbe0(p, "first")
	load(t, p)
	before := objects(t, p)[0]
	provider.NewProbe0(p, "second")
	load(t, p)
	all := objects(t, p)
	if len(all) != 2 || !bytes.Equal(all[0], before) {
		t.Errorf("after a second Load: %d objects, want the first untouched and another", len(all))
	}
}

func TestForcedSite(t *testing.T) {
	for _, site := range []provider.Site{provider.SiteNop, provider.SiteNop5, provider.SiteNop10} {
		p := fresh("site", &provider.Options{Site: site})
		provider.NewProbe0(p, "a")
		err := p.Load()
		t.Cleanup(func() { p.Close() })
		if runtime.GOARCH != "amd64" && site != provider.SiteNop {
			if !errors.Is(err, provider.ErrNotSupported) {
				t.Errorf("%v on %s: got %v, want ErrNotSupported", site, runtime.GOARCH, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%v: %v", site, err)
		}
	}
}

func TestEnabled(t *testing.T) {
	p := newProvider("enabled")
	probe := provider.NewProbe1[int](p, "a", "x")
	probe.Fire(1)
	load(t, p)
	if probe.Enabled() || p.Enabled() {
		t.Error("enabled though nobody watches")
	}
	provider.Watch(p, 1)
	if !probe.Enabled() || !p.Enabled() {
		t.Error("not enabled though its semaphore is 1")
	}
	probe.Fire(1)
	provider.Watch(p, -1)
	if probe.Enabled() || p.Enabled() {
		t.Error("enabled though its semaphore is 0 again")
	}
}

// TestProbeSize checks that a probe takes no more than 64 bytes, a size class of the
// allocator: a further word would make it 80.
func TestProbeSize(t *testing.T) {
	if provider.ProbeSize > 64 {
		t.Errorf("a probe has %d bytes, want at most 64", provider.ProbeSize)
	}
}
