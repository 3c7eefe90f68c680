package provider

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSort compares sortFunc with slices.SortStableFunc.
func TestSort(t *testing.T) {
	type element struct{ key, place int }
	compare := func(a, b element) int { return cmp.Compare(a.key, b.key) }
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 200 {
		list := make([]element, n)
		for i := range list {
			list[i] = element{r.IntN(n/2 + 1), i}
		}
		want := slices.Clone(list)
		slices.SortStableFunc(want, compare)
		if sortFunc(list, compare); !slices.Equal(list, want) {
			t.Fatalf("got %v, want %v", list, want)
		}
	}
}
