//go:build linux

package provider_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/provider"
)

// TestSameProvider checks that probes of one provider can be declared at several
// places, as the packages of a program do.
func TestSameProvider(t *testing.T) {
	one := newProvider("together")
	t.Cleanup(func() { one.Close() })
	provider.NewProbe0(one, "a")
	two := provider.New("together", nil)
	provider.NewProbe0(two, "b")
	if one != two {
		t.Fatal("New returned two providers of one name")
	}
	load(t, one)
	if got := probesOf(t, two); len(got) != 2 {
		t.Errorf("got probes %v, want a and b", got)
	}
}

// TestWrongIsBounded declares wrong probes without end, as a long-running program
// may, and checks that Load reports each place in the source once and counts those
// beyond its limit.
func TestWrongIsBounded(t *testing.T) {
	p := newProvider("again_and_again")
	t.Cleanup(func() { p.Close() })
	for range 1000 {
		provider.NewProbe2[int, int](p, "a", "x", "x")
	}
	err := p.Load()
	if err == nil || strings.Count(err.Error(), "\n") != 0 || !strings.Contains(err.Error(), `"x" is used twice`) {
		t.Errorf("got %v, want one error", err)
	}
	for i := range 1000 {
		provider.NewProbe0(p, fmt.Sprintf("not-an-identifier%d", i))
	}
	err = p.Load()
	if err == nil || strings.Count(err.Error(), "name \"not-an-identifier0\"") != 1 || !strings.HasSuffix(err.Error(), "\n937 more declarations are wrong: the first 64 are listed") {
		t.Errorf("got %v, want the first errors and the number of the others", err)
	}
	p.Close()
	provider.NewProbe0(p, "a")
	if err := p.Load(); err == nil || strings.Contains(err.Error(), "is used twice") || !strings.Contains(err.Error(), "937 more") {
		t.Errorf("got %v, want no error of the probe that is right now, and those of the others", err)
	}
}

func TestOptionsTwice(t *testing.T) {
	nop := &provider.Options{Site: provider.SiteNop}
	p := fresh("opts", nop)
	t.Cleanup(func() { p.Close() })
	provider.New("opts", nil)
	provider.New("opts", nop)
	load(t, p)
	provider.New("opts", &provider.Options{Dir: "/elsewhere"})
	for range 2 {
		if err := p.Load(); err == nil || strings.Count(err.Error(), "all_test.go:") != 1 || strings.Count(err.Error(), "provider_test.go:") != 1 {
			t.Errorf("got %v, want the places of both options", err)
		}
	}
	p.Close()
	provider.New("opts", nil)
	load(t, p)
}

// TestOptionsOverridden checks that main mends libraries that disagree about options by
// giving its own.
func TestOptionsOverridden(t *testing.T) {
	if cmd := tracee.Again(t); cmd != nil {
		tracee.Pass(t, cmd)
		return
	}
	p := provider.New("overridden", &provider.Options{Site: provider.SiteNop})
	provider.New("overridden", &provider.Options{Dir: "/elsewhere"})
	provider.NewProbe0(p, "a")
	if err := provider.LoadAll(nil); err == nil {
		t.Error("LoadAll without options reports nothing")
	}
	if err := errors.Join(provider.LoadAll(&provider.Options{}), provider.CloseAll()); err != nil {
		t.Errorf("LoadAll with options: %v", err)
	}
}

// TestNothing checks that nil and zero providers, groups and probes do nothing.
func TestNothing(t *testing.T) {
	var none *provider.Provider
	var zero provider.Provider
	for _, p := range []*provider.Provider{none, &zero} {
		if err := p.Load(); err == nil || !strings.Contains(err.Error(), "make one with New") {
			t.Errorf("Load: got %v", err)
		}
		if err := p.Close(); err != nil || p.Enabled() || p.Name() != "" {
			t.Errorf("Close: %v; enabled: %v, name %q", err, p.Enabled(), p.Name())
		}
		g := p.Group("g")
		if g.Enabled() {
			t.Error("a group of no provider is enabled")
		}
	}
	var noGroup *provider.Group
	var zeroGroup provider.Group
	for _, in := range []provider.Scope{nil, none, &zero, noGroup, &zeroGroup} {
		a, b, c := provider.NewProbe0(in, "a"), provider.NewProbe2[int, string](in, "b", "x", "y"), provider.NewStructProbe[struct{ N int }](in, "c")
		a.Fire()
		b.Fire(1, "x")
		c.Fire(nil)
		if a.Enabled() || b.Enabled() || c.Enabled() {
			t.Errorf("a probe in %T is enabled", in)
		}
	}
	if zeroGroup.Enabled() {
		t.Error("the zero group is enabled")
	}
	var a provider.Probe0
	var b provider.Probe2[int, string]
	var c provider.Probe6[int, string, []byte, float64, bool, string]
	var d provider.StructProbe[struct{ N int }]
	a.Fire()
	b.Fire(1, "x")
	c.Fire(1, "x", nil, 1, true, "y")
	d.Fire(nil)
	if a.Enabled() || b.Enabled() || c.Enabled() || d.Enabled() {
		t.Error("the zero value of a probe is enabled")
	}
}

// TestLoadAll runs in a process of its own, since it loads and closes the providers
// of all tests.
func TestLoadAll(t *testing.T) {
	if cmd := tracee.Again(t); cmd != nil {
		tracee.Pass(t, cmd)
		return
	}
	one, two := provider.New("all_one", nil), provider.New("all_two", &provider.Options{Dir: "/elsewhere"})
	a, b := provider.NewProbe0(one, "a"), provider.NewProbe0(two, "b")
	dir := t.TempDir()
	for range 2 {
		if err := provider.LoadAll(&provider.Options{Backing: provider.BackingFile, Dir: dir}); err != nil {
			t.Fatal(err)
		}
		for _, p := range []*provider.Provider{one, two} {
			provider.Watch(p, 1)
		}
		if files, err := os.ReadDir(dir); err != nil || len(files) != 2 {
			t.Errorf("LoadAll's directory has %v (%v), want an object of each provider", files, err)
		}
		if !a.Enabled() || !b.Enabled() {
			t.Error("LoadAll has not loaded all")
		}
		if err := provider.CloseAll(); err != nil || a.Enabled() || b.Enabled() {
			t.Errorf("CloseAll: %v; enabled: %v, %v", err, a.Enabled(), b.Enabled())
		}
	}
	// Each Load fails until what is wrong is gone.
	for range 2 {
		if err := provider.LoadAll(&provider.Options{Backing: 77}); err == nil || !strings.Contains(err.Error(), `"all_one"`) || !strings.Contains(err.Error(), `"all_two"`) {
			t.Errorf("got %v, want an error of both providers", err)
		}
	}
	if err := errors.Join(provider.LoadAll(&provider.Options{}), provider.CloseAll()); err != nil {
		t.Error(err)
	}
	provider.NewProbe0(nil, "lost")
	if err := provider.LoadAll(nil); err == nil || !regexp.MustCompile(`declare probe lost at \S*/all_test\.go:\d+: its provider or group is nil`).MatchString(err.Error()) {
		t.Errorf("got %v, want the place of the probe without provider", err)
	}
	// Their order is the same each time.
	for range 8 {
		lost := []func(){
			func() { provider.NewProbe0(nil, "a") }, func() { provider.NewProbe0(nil, "b") },
			func() { provider.NewProbe0(nil, "c") }, func() { provider.NewProbe0(nil, "d") },
		}
		for _, i := range rand.Perm(len(lost)) {
			lost[i]()
		}
		if err := provider.LoadAll(nil); err == nil || !regexp.MustCompile(`(?s)probe a at .*probe b at .*probe c at .*probe d at .*probe lost at `).MatchString(err.Error()) {
			t.Errorf("got %v, want all probes without provider in order", err)
		}
	}
	provider.CloseAll()
}

// TestClosedIsForgotten checks that most closed providers of many names are not kept,
// and that one is while the program holds a probe of it.
func TestClosedIsForgotten(t *testing.T) {
	probe := func() *provider.Probe0 {
		p := newProvider("kept")
		defer p.Close()
		return provider.NewProbe0(p, "a")
	}()
	for i := range 100 {
		p := newProvider(fmt.Sprintf("passing%d", i))
		provider.NewProbe0(p, "a")
		if err := errors.Join(p.Load(), p.Close()); err != nil {
			t.Fatal(err)
		}
	}
	// Later providers make the registry look for providers that are gone.
	deadline := time.Now().Add(time.Minute)
	for made, n := 100, 100; n > made/2; n = provider.Registered("passing") {
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d closed providers are still known", n, made)
		}
		runtime.GC()
		for range 100 {
			newProvider(fmt.Sprintf("passing%d", made)).Close()
			made++
		}
	}
	p := provider.New("kept", nil)
	load(t, p)
	provider.Watch(p, 1)
	if !probe.Enabled() {
		t.Error("a probe whose provider was closed and forgotten is not loaded by the next Load")
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}
