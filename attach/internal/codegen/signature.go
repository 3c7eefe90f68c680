package codegen

import (
	"fmt"

	"github.com/go-usdt/usdt/attach/internal/filter"
	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/shape"
)

// Signature is all that the code for a site depends on. Sites with equal
// signatures share it; [Signature.Key] tells equality.
type Signature struct {
	// Layout is that of the records. The bytes in front of their strings are put
	// together for conditions and aggregates, too.
	record.Layout
	Hook      Hook              // what the program has to be
	Operands  []operand.Operand // what the slots hold
	BlockBase operand.Location  // where the address is of which the block is BlockDisp bytes further
	BlockDisp int32

	// The condition on which an event is wanted, nil for all, and what it looks
	// at: a Value's Index is one of Inputs.
	Where  *filter.Condition
	Inputs []Input

	Aggregate *Aggregate // nil to record events

	text string // key, once it has been asked for
}

// DropUnneeded leaves only reads that the condition or the aggregate look at.
func (s *Signature) DropUnneeded() {
	needed := make([]bool, len(s.Operands))
	block := false
	look := func(in *Input) {
		switch {
		case in.Source == InputOperand:
			needed[in.Index] = true
		case in.inBlock(), in.Source == InputText && in.Text.Sized:
			block = true
			if in.Source == InputGoAddr {
				needed[shape.IPv4Slot] = true
			}
		case in.Source == InputText:
			needed[in.Text.Slot] = true
			if in.Text.Counted {
				needed[in.Text.LengthSlot] = true
			}
		}
	}
	for i := range s.Inputs {
		look(&s.Inputs[i])
	}
	for in := range s.Aggregate.inputs {
		look(in)
	}
	for i := range s.Operands {
		if !needed[i] {
			s.Operands[i] = operand.Operand{}
		}
	}
	s.Strings = nil
	s.dropIndirects()
	if !block {
		s.Block, s.BlockBase, s.BlockDisp = 0, operand.Location{}, 0
	}
}

// dropIndirects leaves out what is not looked at, nor on the way to it.
func (s *Signature) dropIndirects() {
	needed := make([]bool, len(s.Indirects))
	var mark func(off uint32)
	mark = func(off uint32) {
		if i := s.RegionRead(off) - s.BlockRead() - 1; i >= 0 && !needed[i] {
			needed[i] = true
			mark(s.Indirects[i].Pointer)
		}
	}
	look := func(in *Input) {
		switch {
		case in.inBlock():
			mark(in.Offset)
		case in.Source == InputText && in.Text.Sized:
			mark(in.Text.Length)
		}
	}
	for i := range s.Inputs {
		look(&s.Inputs[i])
	}
	for in := range s.Aggregate.inputs {
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

// Read adds an operand to the records and returns its slot.
func (s *Signature) Read(op operand.Operand) (slot int) {
	s.Operands = append(s.Operands, op)
	s.Slots = len(s.Operands)
	return s.Slots - 1
}

// Key tells signatures apart. They do not change once it has been asked for.
func (s *Signature) Key() string {
	if s.text != "" {
		return s.text
	}
	flat := *s
	flat.Where, flat.Aggregate = nil, nil
	key := fmt.Sprintf("%+v", flat) + conditionKey(s.Where)
	if s.Aggregate != nil {
		key += fmt.Sprintf("%+v", *s.Aggregate)
	}
	s.text = key
	return key
}
