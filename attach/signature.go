package attach

import (
	"fmt"

	"github.com/go-usdt/usdt/attach/internal/filter"
	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/shape"
)

// signature is all that the code for a site depends on. Sites with equal
// signatures share it; [signature.key] tells equality.
type signature struct {
	// Layout is that of the records. The bytes in front of their strings are put
	// together for conditions and aggregates, too.
	record.Layout
	hook      hook
	operands  []operand.Operand // what the slots hold
	blockBase operand.Location  // where the address is of which the block is blockDisp bytes further
	blockDisp int32

	// The condition on which an event is wanted, nil for all, and what it looks
	// at: a Value's Index is one of inputs.
	where  *filter.Condition
	inputs []input

	aggregate *aggregateCode // nil to record events

	text string // key, once it has been asked for
}

// dropUnneeded leaves only reads that the condition or the aggregate look at.
func (s *signature) dropUnneeded() {
	needed := make([]bool, len(s.operands))
	block := false
	look := func(in *input) {
		switch {
		case in.source == inputOperand:
			needed[in.index] = true
		case in.inBlock(), in.source == inputText && in.text.Sized:
			block = true
			if in.source == inputGoAddr {
				needed[shape.IPv4Slot] = true
			}
		case in.source == inputText:
			needed[in.text.Slot] = true
			if in.text.Counted {
				needed[in.text.LengthSlot] = true
			}
		}
	}
	for i := range s.inputs {
		look(&s.inputs[i])
	}
	for in := range s.aggregate.inputs {
		look(in)
	}
	for i := range s.operands {
		if !needed[i] {
			s.operands[i] = operand.Operand{}
		}
	}
	s.Strings = nil
	s.dropIndirects()
	if !block {
		s.Block, s.blockBase, s.blockDisp = 0, operand.Location{}, 0
	}
}

// dropIndirects leaves out what is not looked at, nor on the way to it.
func (s *signature) dropIndirects() {
	needed := make([]bool, len(s.Indirects))
	var mark func(off uint32)
	mark = func(off uint32) {
		if i := s.RegionRead(off) - s.BlockRead() - 1; i >= 0 && !needed[i] {
			needed[i] = true
			mark(s.Indirects[i].Pointer)
		}
	}
	look := func(in *input) {
		switch {
		case in.inBlock():
			mark(in.offset)
		case in.source == inputText && in.text.Sized:
			mark(in.text.Length)
		}
	}
	for i := range s.inputs {
		look(&s.inputs[i])
	}
	for in := range s.aggregate.inputs {
		look(in)
	}
	for i := range needed {
		if !needed[i] {
			s.Indirects[i].Size = 0 // the others keep their places
		}
	}
}

// conditionKey tells conditions apart.
func conditionKey(c *filter.Condition) string {
	if c == nil {
		return ""
	}
	flat := *c
	flat.Left, flat.Right = nil, nil
	return fmt.Sprintf("(%s%+v%s)", conditionKey(c.Left), flat, conditionKey(c.Right))
}
