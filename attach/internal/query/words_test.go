package query

import (
	"testing"

	"github.com/go-usdt/usdt/reader"
)

// TestFunctions checks that each cell has all that is known of it, and that what a function is made
// of takes words.
func TestFunctions(t *testing.T) {
	for c := range Cells {
		if cell := &cells[c]; cell.wanted == nil || cell.words == nil || cell.add == nil {
			t.Errorf("cell %d lacks a function", c)
		}
	}
	for f := range Functions {
		if functions[f] == nil {
			t.Fatalf("function %d does not say what it is made of", f)
		}
		v := (&Computation{Value: "v", Functions: Of(f)}).Values()
		places, words := v.Places(reader.Uint)
		if len(places) == 0 {
			t.Errorf("function %d is made of nothing", f)
		}
		for _, p := range places {
			if p.At < 1 || p.Words < 1 || p.At+p.Words > words {
				t.Errorf("function %d: cell %d has words %d to %d of %d", f, p.Cell, p.At, p.At+p.Words, words)
			}
		}
	}
}
