package held_test

import (
	"testing"

	"github.com/go-usdt/usdt/internal/held"
)

// TestShortType checks names of types against what fmt writes for %T.
func TestShortType(t *testing.T) {
	for name, want := range map[string]string{
		"int":                           "int",
		"*io/fs.PathError":              "*fs.PathError",
		"map[string]*example.com/a/b.T": "map[string]*b.T",
		"example.com/a.Pair[example.com/b.K,int]":               "a.Pair[b.K,int]",
		"func(example.com/a.T, ...string) (net/url.URL, error)": "func(a.T, ...string) (url.URL, error)",
	} {
		if got := held.ShortType(name); got != want {
			t.Errorf("%s is shortened to %s, want %s", name, got, want)
		}
	}
}
