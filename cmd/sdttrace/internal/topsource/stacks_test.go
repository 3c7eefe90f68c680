package topsource

import (
	"fmt"
	"slices"
	"testing"
)

// TestStacks checks the order and the shares of stacks, how many are told apart, and
// how many lines are shown.
func TestStacks(t *testing.T) {
	s := stacks{counts: map[string]uint64{}}
	if got := s.Lines(5); !slices.Equal(got, []string{"no event yet"}) {
		t.Errorf("without an event: %q", got)
	}
	s.add("\n\tleaf\n\tb\n\tmain", 3)
	s.add("\n\tleaf\n\ta\n\tmain", 1)
	s.add("\n\tleaf\n\ta\n\tmain", 4)
	want := []string{
		"8 events in 2 stacks",
		"       5   62.5 %", "          leaf", "          a", "          main",
		"       3   37.5 %", "          leaf", "          b", "          main",
	}
	for n := range len(want) + 2 {
		if got := s.Lines(n + 1); !slices.Equal(got, want[:min(n+1, len(want))]) {
			t.Errorf("%d lines are %q, want %q", n+1, got, want[:min(n+1, len(want))])
		}
	}
	for i := range maxStacks {
		s.add(fmt.Sprintf("\n\tleaf %d", i), 1)
	}
	if got, want := s.Lines(1)[0], fmt.Sprintf("%d events in %d stacks and 2 in others", 8+maxStacks, maxStacks); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
