package codegen

import (
	"testing"

	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/reader"
)

// TestTaskNumbers checks that programs can read each key that is a number.
func TestTaskNumbers(t *testing.T) {
	for _, k := range query.TaskKeys {
		if k.Kind != reader.String && taskNumbers[k.Source] == nil {
			t.Errorf("no line of taskNumbers has what %s is", k.Name)
		}
	}
}

// TestDivisions checks that programs know all histograms.
func TestDivisions(t *testing.T) {
	for d := range query.Divisions {
		if divisions[d] == nil {
			t.Errorf("no line of divisions has the program of division %d", d)
		}
	}
}
