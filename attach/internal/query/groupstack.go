package query

import (
	"encoding/binary"
	"errors"

	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/symbols"
)

// A group by stack has the stack's hash in its key. The stack itself is a value of
// Refs.Stacks, in words of 8 bytes:
//
//	process      PID, as the tracer's namespace has it
//	site         its number
//	caller       the return address at a function's entry, 0 if it stands among the addresses
//	size         bytes of the addresses
//	addresses    the innermost first: the kernel's, if the probe is there, and then the program's
const (
	GroupStackPID       = 0
	GroupStackSite      = 8
	GroupStackCaller    = 16
	GroupStackBytes     = 24
	GroupStackAddresses = 32
)

// GroupStackSize returns the bytes of a stack of so many addresses.
func GroupStackSize(most int) int { return GroupStackAddresses + 8*most }

// GroupStack is a stack that groups have.
type GroupStack struct {
	PID, Site int
	symbols.Calls
	// Saved is the stack if a recording has it, with what names it, and nil otherwise.
	Saved *event.Stack
}

var errGroupStack = errors.New("the stack of a group is damaged")

// ReadGroupStack reads a value of Refs.Stacks.
func ReadGroupStack(b []byte) (st GroupStack, err error) {
	if len(b) < GroupStackAddresses {
		return st, errGroupStack
	}
	word := func(at int) uint64 { return binary.NativeEndian.Uint64(b[at:]) }
	st.PID, st.Site = int(word(GroupStackPID)), int(word(GroupStackSite))
	size := word(GroupStackBytes)
	if size%8 != 0 || size > uint64(len(b)-GroupStackAddresses) {
		return st, errGroupStack
	}
	st.PCs = record.AppendAddresses(nil, b[GroupStackAddresses:][:size], word(GroupStackCaller))
	return st, nil
}

// HashFactor is an odd number with many bits set and clear: 2^64 divided by the golden ratio.
const HashFactor = 0x9e3779b97f4a7c15

// StackHash returns what tells the stacks of processes apart; it is never 0, which stands for a
// stack that could not be read. At a function's entry, programs hash the return address in
// front of the others.
func StackHash(pid int, calls symbols.Calls) uint64 {
	h := hashWord(hashWord(0, uint64(pid)), 0)
	for _, pc := range calls.PCs {
		h = hashWord(h, pc)
	}
	for _, i := range calls.Exact { // which no program finds
		h = hashWord(h, uint64(i))
	}
	if calls.Cut != nil {
		for _, b := range []byte(calls.Cut.Error()) {
			h = hashWord(h, uint64(b))
		}
	}
	return max(h, 1)
}

func hashWord(h, word uint64) uint64 {
	h = (h ^ word) * HashFactor
	return h ^ h>>32
}
