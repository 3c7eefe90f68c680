package event

import (
	"errors"

	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/symbols"
)

func namesOf(s *Stack) [][]symbols.Frame {
	names := make([][]symbols.Frame, len(s.PCs))
	for i := range names {
		names[i] = s.at(i)
	}
	return names
}

func savedStackOf(pcs []uint64, names [][]symbols.Frame, err error) *Stack {
	return &Stack{PCs: pcs, Err: err, saved: names}
}

func firstCalls(s *Stack, most int) *Stack {
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
func (d *decoder) savedStack(r record.Record, st *record.Stack) Stack {
	if d.saved != nil {
		if s := d.saved(st.Number(r)); s != nil {
			return s.first(st.Most)
		}
	}
	return Stack{Err: errForgotten}
}

func (d *decoder) StackOf(rec []byte) *Stack {
	r, s, p, err := d.site(rec)
	if err != nil || s.Layout.Stack.Most == 0 {
		return nil
	}
	var memory []uint64
	stack := d.stackOf(r, &s.Layout.Stack, p, &memory)
	return &stack
}

func (d *decoder) KnowStacks(saved func(number uint64) *Stack) { d.saved = saved }
