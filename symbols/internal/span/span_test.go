package span_test

import (
	"math/rand/v2"
	"testing"

	"github.com/go-usdt/usdt/symbols/internal/span"
)

// TestFind compares tables of random spans with a search through all of them.
func TestFind(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		spans := make([]span.Span, r.IntN(12))
		for i := range spans {
			low := r.Uint64N(40)
			spans[i] = span.Span{Low: low, High: low + r.Uint64N(12), Rank: r.Uint32N(3), ID: uint32(i)}
		}
		want := make([]int, 64)
		for x := range want {
			want[x] = -1
			var best span.Span
			for _, s := range spans {
				if uint64(x) < s.Low || uint64(x) >= s.High {
					continue
				}
				if want[x] < 0 || s.Rank > best.Rank || s.Rank == best.Rank && (s.Low > best.Low || s.Low == best.Low && s.ID > best.ID) {
					best, want[x] = s, int(s.ID)
				}
			}
		}
		table := span.New(spans)
		for x := range want {
			got := -1
			if id, ok := table.Find(uint64(x)); ok {
				got = int(id)
			}
			if got != want[x] {
				t.Fatalf("%v at %d: got %d, want %d", spans, x, got, want[x])
			}
		}
	}
}

// TestEnd checks that a span may reach the end of the address space.
func TestEnd(t *testing.T) {
	table := span.New([]span.Span{{Low: 1 << 63, High: 1<<64 - 1, ID: 3}})
	if id, ok := table.Find(1<<64 - 2); !ok || id != 3 {
		t.Errorf("got %d, %v, want 3", id, ok)
	}
	if id, ok := table.Find(0); ok {
		t.Errorf("got %d at 0, want none", id)
	}
}
