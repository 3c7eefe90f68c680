package source

import (
	"sync"

	"github.com/go-usdt/usdt/event"
)

// savedStacks has the stacks of the records that were read from files, by numbers that it puts
// into the records. It keeps the last ones: the stacks of records that nobody has decoded yet, or of
// starts that wait for their ends.
type savedStacks struct {
	mu      sync.Mutex
	last    uint64                // number
	numbers map[savedStack]uint64 // of those in now
	now     map[uint64]*event.Stack
	before  map[uint64]*event.Stack // that were kept before these
	size    int                     // addresses and functions of those in now
}

// savedStack is what stands for a stack in a file.
type savedStack struct {
	file   *recording
	number uint64
}

// keptSize is how many addresses, and functions that run there, the stacks have that are kept at
// most, beside as many that were kept before.
const keptSize = 2 << 20

func newSavedStacks() *savedStacks {
	return &savedStacks{numbers: map[savedStack]uint64{}, now: map[uint64]*event.Stack{}}
}

// keep returns the number of the stack that the record which was read last from a file has.
func (s *savedStacks) keep(f *recording, number uint64) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	in := savedStack{f, number}
	if n, known := s.numbers[in]; known {
		return n
	}
	stack := f.stack(number)
	if s.size += 1 + len(stack.PCs) + len(stack.Frames()); s.size > keptSize {
		s.before, s.now, s.size = s.now, map[uint64]*event.Stack{}, 0
		clear(s.numbers)
	}
	s.last++
	s.numbers[in], s.now[s.last] = s.last, stack
	return s.last
}

// of returns the stack of a number, nil if it is not kept any more.
func (s *savedStacks) of(number uint64) *event.Stack {
	s.mu.Lock()
	defer s.mu.Unlock()
	if stack := s.now[number]; stack != nil {
		return stack
	}
	return s.before[number]
}
