package sums

import (
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/attach/internal/tally"
	"github.com/go-usdt/usdt/event"
)

// Fold adds up all groups but the most used ones in one.
func (s *Sums) Fold(most int) { tally.Fold(s.of, most, s.places) }

// FoldTo is Fold for sums that go on, and forgets the stacks of groups that are no longer apart.
func (s *Sums) FoldTo(most int) {
	if s.Layout.KeySize > 0 && len(s.of) > most {
		s.joinGroups()
		s.Fold(most / 2)
		s.KeepStacks(s.Layout.StackPart())
	}
}

// isOther reports whether the key is that of the group of others.
func isOther(key []byte) bool {
	return len(key) > 0 && key[0] == 0xff && string(key) == tally.OtherKey(len(key))
}

// KeepStacks forgets the stacks of groups that were added up in one.
func (s *Sums) KeepStacks(part *query.Part) {
	tally.KeepStacks(s.stacks, s.of, part)
	tally.KeepStacks(s.named, s.of, part)
}

// Events returns how many events all groups have.
func (s *Sums) Events() (n uint64) {
	for _, words := range s.of {
		n += words[query.WordCount]
	}
	return n
}

// Size returns the number of groups.
func (s *Sums) Size() int { return len(s.of) }

// PIDs returns the processes of stacks.
func (s *Sums) PIDs() map[int]bool {
	pids := map[int]bool{}
	for _, st := range s.stacks {
		pids[st.PID] = true
	}
	return pids
}

// Join adds others, which have been taken later.
func (s *Sums) Join(more *Sums) {
	s.Layout = more.Layout
	for key, words := range more.of {
		s.AddWords(key, words)
	}
	s.AddStacks(more.stacks)
	for number, st := range more.named {
		if s.named == nil {
			s.named = map[uint64]*event.Stack{}
		}
		s.named[number] = st
	}
}
