package format

import (
	"cmp"
	"slices"
	"time"

	"github.com/go-usdt/usdt/attach"
)

// Slowest are the pairs that took longest, in this order.
type Slowest struct {
	Pairs []attach.Pair
	Most  int // how many are kept
}

// Add keeps the pair if it is one of the slowest.
func (s *Slowest) Add(pair attach.Pair) {
	at, _ := slices.BinarySearchFunc(s.Pairs, pair.Took, func(p attach.Pair, took time.Duration) int { return cmp.Compare(took, p.Took) })
	if at == s.Most {
		return
	}
	if len(s.Pairs) == s.Most {
		s.Pairs = s.Pairs[:s.Most-1]
	}
	s.Pairs = slices.Insert(s.Pairs, at, pair)
}
