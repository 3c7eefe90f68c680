package event

import (
	"errors"

	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/symbols"
)

// Names returns the functions that run at each address, the innermost first, to be kept. It is
// for code in this module that records events.
func (s *Stack) Names() [][]symbols.Frame {
	names := make([][]symbols.Frame, len(s.PCs))
	for i := range names {
		names[i] = s.at(i)
	}
	return names
}

// SavedStack returns a stack whose PCs, Names and Err were kept. It is for sources of events in
// this module.
func SavedStack(pcs []uint64, names [][]symbols.Frame, err error) *Stack {
	return &Stack{PCs: pcs, Err: err, saved: names}
}

// Named returns a saved stack with no more than most addresses, the first ones, for
// [Stack.DropUnmapped].
func (s *Stack) Named(most int) *Stack {
	n := s.first(most)
	n.named = n.AppendFrames([]symbols.Frame{})
	return &n
}

// first returns the first addresses of a saved stack.
func (s *Stack) first(most int) Stack {
	n := *s
	if len(s.PCs) > most {
		n.cut(most)
	}
	return n
}

// errForgotten says that a recording has more stacks than are kept.
var errForgotten = errors.New("there were too many stacks to keep its addresses")

// savedStack returns the stack whose number is in a record.
func (d *Decoder) savedStack(r record.Record, st *record.Stack) Stack {
	if d.saved != nil {
		if s := d.saved(st.Number(r)); s != nil {
			return s.first(st.Most)
		}
	}
	return Stack{Err: errForgotten}
}

// StackOf returns the stack in a record, nil if its site is not known or has none.
func (d *Decoder) StackOf(rec []byte) *Stack {
	r, s, p, err := d.site(rec)
	if err != nil || s.Layout.Stack.Most == 0 {
		return nil
	}
	var memory []uint64
	stack := d.stackOf(r, &s.Layout.Stack, p, &memory)
	return &stack
}

// KnowStacks gives events the stacks that were saved. saved returns the stack with a number, nil
// if it is not known any more.
func (d *Decoder) KnowStacks(saved func(number uint64) *Stack) { d.saved = saved }
