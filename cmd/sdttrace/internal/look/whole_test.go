package look

import (
	"slices"
	"testing"
)

// TestWhole takes a provider for all of its probes, and nothing else for a provider.
func TestWhole(t *testing.T) {
	words := []string{"postgresql", "myapp:done", "query__start", "dwarf", "4711", "./prog", ""}
	want := []string{"postgresql:*", "myapp:done", "query__start", "dwarf", "4711", "./prog", ""}
	if got := Whole(words); !slices.Equal(got, want) || words[0] != "postgresql" {
		t.Errorf("got %q, want %q", got, want)
	}
}
