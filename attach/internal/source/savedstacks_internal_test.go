package source

import (
	"testing"

	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/decode"
)

// deepFile is a file of which each record has a stack of its own.
type deepFile struct{ traceFile }

func (deepFile) stack(number uint64) *event.Stack {
	return decode.SavedStack(make([]uint64, 127), nil, nil)
}

// TestSavedStacksForgotten checks that the stacks of records are kept in bounded memory, each
// once, and that the last ones are there.
func TestSavedStacksForgotten(t *testing.T) {
	s, f := newSavedStacks(), &recording{recordedFile: deepFile{}}
	const n, recent = 50_000, keptSize / 256
	for i := range uint64(n) {
		number := s.keep(f, i)
		if again := s.keep(f, i); again != number {
			t.Fatalf("stack %d has the numbers %d and %d", i, number, again)
		}
		if s.of(number) == nil || number > recent && s.of(number-recent+1) == nil {
			t.Fatalf("stack %d, or one of the %d before, is forgotten", i, recent)
		}
	}
	if s.of(1) != nil || len(s.now)+len(s.before) > 2*recent+1 || len(s.numbers) != len(s.now) {
		t.Errorf("%d and %d stacks are kept, with %d numbers, of %d that are wanted", len(s.now), len(s.before), len(s.numbers), recent)
	}
	other := &recording{recordedFile: deepFile{}}
	if s.keep(other, n-1) == s.keep(f, n-1) {
		t.Error("stacks of two files have the same number")
	}
}
