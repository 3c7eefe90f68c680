package codegen

import (
	"testing"

	"github.com/go-usdt/usdt/attach/internal/query"
)

// TestAdders checks that each cell of a group has the program that adds to it.
func TestAdders(t *testing.T) {
	var of [query.Cells]int
	for _, a := range adders {
		of[a.cell]++
	}
	for c, n := range of {
		if n != 1 {
			t.Errorf("cell %d has %d programs, want 1", c, n)
		}
	}
}
