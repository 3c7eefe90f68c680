package reader_test

import (
	"os"
	"slices"
	"testing"

	"github.com/go-usdt/usdt/provider"
	"github.com/go-usdt/usdt/reader"
)

// TestDeclared checks that what this process declares is seen from outside until it is
// loaded, and not after Close, which is a decision.
func TestDeclared(t *testing.T) {
	first, second := provider.New("declared_first", nil), provider.New("declared_second", nil)
	provider.NewProbe1[string](first, "one", "s")
	provider.NewProbe0(first.Group("g"), "two")
	provider.NewStructProbe[struct{ N int }](second, "three")
	declared := func(want ...string) {
		t.Helper()
		p, err := reader.OpenProcess(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		var got []string
		for _, d := range p.Declared() {
			if d.Provider == first.Name() || d.Provider == second.Name() {
				got = append(got, d.Provider+":"+d.Name)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("declared are %v, want %v", got, want)
		}
	}
	declared("declared_first:one", "declared_first:two", "declared_second:three")
	for _, p := range []*provider.Provider{first, second} {
		if err := p.Load(); err != nil {
			t.Fatal(err)
		}
		if p == first {
			declared("declared_second:three")
		}
	}
	declared()
	for _, p := range []*provider.Provider{first, second} {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
	declared()
}
