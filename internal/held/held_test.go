package held_test

import (
	"testing"

	"github.com/go-usdt/usdt/internal/held"
)

// TestTypes checks that each type is found by its word, with the parts that it has.
func TestTypes(t *testing.T) {
	var all []held.Type
	for i := range 600 {
		word := uint64(1000 - i)
		all = append(all, held.Type{Word: word, At: [held.Parts]uint16{held.Text: uint16(word % 2), held.More: held.MaxAt + 1}})
	}
	types := held.New(all)
	if types.Len() != held.MaxTypes || !types.Any(held.Text) || types.Any(held.Cause) {
		t.Errorf("%d types, with text %v, with a cause %v", types.Len(), types.Any(held.Text), types.Any(held.Cause))
	}
	for word := uint64(401); word < 401+held.MaxTypes; word++ {
		if types.Has(word, held.Text) != (word%2 == 1) || !types.Has(word, held.More) {
			t.Errorf("word %d: text %v, more %v", word, types.Has(word, held.Text), types.Has(word, held.More))
		}
	}
	if types.Has(400, held.More) || types.Has(5000, held.More) {
		t.Error("words are found that no type has")
	}
	if !types.Has(402, held.Whole) || types.Has(400, held.Whole) {
		t.Error("types are not found as a whole")
	}
	if types.At(0).Word != 401 || types != held.New(all) {
		t.Error("types are not in the order of their words, or not equal")
	}
	one := held.Type{At: [held.Parts]uint16{1, 2, 3, 4}}
	if got := one.Packed(); got != 0x4000300020001 {
		t.Errorf("packed: %#x", got)
	}
}
