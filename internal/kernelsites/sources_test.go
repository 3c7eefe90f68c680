package kernelsites

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/internal/selector"
	"github.com/go-usdt/usdt/reader"
)

// load has a source load these sites until the test ends.
func load(t *testing.T, of *source, all sites, err error) {
	was := of.load
	t.Cleanup(func() { of.load = was })
	of.load = func() (sites, error) { return all, err }
}

// find returns what selectors name.
func find(t *testing.T, texts ...string) (found []reader.Probe, s *Search, err error) {
	s = &Search{
		Matched: make([]bool, len(texts)), Hot: make([]int, len(texts)),
		Interrupted: func() bool { return false }, Keep: func(p *reader.Probe) { found = append(found, *p) },
	}
	for _, text := range texts {
		sel, err := selector.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		s.Selectors = append(s.Selectors, sel)
	}
	err = s.Find()
	return found, s, err
}

// complete checks which words complete others.
func complete(t *testing.T, words map[string][]string) {
	for prefix, want := range words {
		got, ok := Complete(prefix)
		if diff := cmp.Diff(want, got); diff != "" || !ok {
			t.Errorf("%s: %t (-want +got):\n%s", prefix, ok, diff)
		}
	}
}

// TestSources checks that each kind of sites of the kernel is known from one source.
func TestSources(t *testing.T) {
	for _, k := range reader.ProbeKinds() {
		n := 0
		for _, of := range sources {
			n += len(slices.DeleteFunc(slices.Clone(of.kinds), func(other reader.ProbeKind) bool { return other != k }))
		}
		if k.InKernel() && n != 1 || !k.InKernel() && n != 0 {
			t.Errorf("%d sources know sites of kind %v", n, k)
		}
	}
}
