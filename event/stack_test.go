package event_test

import (
	"slices"
	"testing"

	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/symbols"
)

// TestNoCode checks that a stack ends, and says so, where a frame pointer was none and leads
// to a word that is no address of code.
func TestNoCode(t *testing.T) {
	const code = 0x55d9d098a068
	for _, test := range []struct {
		name   string
		pcs    []uint64
		copied int
		want   int
		cut    bool
	}{
		{"whole", []uint64{code, code, 0x401000}, 0, 3, false},
		{"null", []uint64{code, 0}, 0, 1, true},
		{"number", []uint64{code, code, 2, code}, 0, 2, true},
		{"text", []uint64{code, 0x4102360c00005580, code}, 0, 1, true},
		{"where it fired", []uint64{2, code}, 0, 2, false},
		{"unwound", []uint64{code, 2}, 1, 2, false},
		{"as many as are read", []uint64{code, 0, code, code}, 0, 1, true},
	} {
		s := event.NamedStack(symbols.Calls{PCs: slices.Clone(test.pcs)}, &record.Stack{Most: 4, Copied: test.copied}, nil)
		if len(s.PCs) != test.want || (s.Err != nil) != test.cut {
			t.Errorf("%s: %d addresses, %v, want %d, cut %t", test.name, len(s.PCs), s.Err, test.want, test.cut)
		}
	}
}
