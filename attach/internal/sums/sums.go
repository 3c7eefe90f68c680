package sums

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/go-usdt/usdt/attach/internal/bind"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/reader"
	"github.com/go-usdt/usdt/total"
)

// Sums are the words of groups by their keys.
type Sums struct {
	// Layout describes the keys and words as they have been read. The tracing has another
	// layout when more sites are found.
	Layout *bind.Layout
	words  int
	places []query.Place
	of     map[string][]uint64
	stacks map[uint64]query.GroupStack // that keys have the hashes of
	named  map[uint64]*event.Stack     // the stacks of groups that are united, by the numbers that keys have
	read   []uint64                    // the words that Add takes
}

func New(l *bind.Layout, of map[string][]uint64) *Sums {
	values := l.Wanted.Values()
	places, words := values.Places(l.Value.Kind)
	return &Sums{Layout: l, words: words, places: places, of: of}
}

// Add adds the words of a CPU, or of all, to the group.
func (s *Sums) Add(key string, words []byte) {
	s.read = s.read[:0]
	for at := 0; at < 8*s.words; at += 8 {
		s.read = append(s.read, binary.NativeEndian.Uint64(words[at:]))
	}
	s.AddWords(key, s.read)
}

// AddWords adds words to the group's.
func (s *Sums) AddWords(key string, words []uint64) {
	query.Merge(s.Of(key), words, s.places)
}

// Of returns the words of a group.
func (s *Sums) Of(key string) []uint64 {
	sum := s.of[key]
	if sum == nil {
		sum = make([]uint64, s.words)
		s.of[key] = sum
	}
	return sum
}

// Groups returns the groups that have events, the least used ones as one if they are too
// many. probes are the probes of sites, by the sites' numbers.
func (s *Sums) Groups(probes []*reader.Probe) []total.Group {
	if s.Layout.KeySize > 0 {
		s.joinGroups()
		s.Fold(s.Layout.MaxGroups())
		s.KeepStacks(s.Layout.StackPart())
	}
	groups := make([]total.Group, 0, len(s.of))
	w := wordsOf(s.Layout, s.places)
	for key, words := range s.of {
		if words[query.WordCount] > 0 {
			w.all, groups = words, groups[:len(groups)+1]
			decode(&groups[len(groups)-1], []byte(key), w, probes, s.named)
		}
	}
	Sort(groups)
	return groups
}

// Sort puts the largest groups first, and orders groups of one size by their keys.
func Sort(groups []total.Group) {
	slices.SortFunc(groups, func(x, y total.Group) int {
		if c := cmp.Compare(y.Count, x.Count); c != 0 && x.Other == y.Other {
			return c
		}
		return x.CompareKeys(&y)
	})
}
