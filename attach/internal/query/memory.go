package query

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/go-usdt/usdt/attach/internal/filter"
	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/internal/record"
)

// Limits on a record with strings, whose scratch memory is a value of a per-CPU
// map: PCPU_MIN_UNIT_SIZE (include/linux/percpu.h) bounds that.
const (
	maxScratch = 32 << 10
	ScratchPad = 8 // the lock in front of the record
)

// LimitStrings lowers the limit of each string if several would not fit a record.
func (s *Signature) LimitStrings() {
	if len(s.Strings) == 0 {
		s.Limit = 0 // without strings, signatures do not differ by it
	}
	for s.Limit > 0 && s.ScratchSize() > maxScratch {
		s.Limit /= 2
	}
}

// CursorMask returns a mask that bounds the position of the next string behind
// the fixed part. With a mask the verifier need not follow all combinations of
// lengths.
func (s *Signature) CursorMask() int {
	return 1<<bits.Len(uint(s.FixedSize()+s.stringsSize())) - 1
}

// stringsSize returns the most bytes of the strings behind the fixed part. A terminated
// string is copied with its NUL.
func (s *Signature) stringsSize() int { return len(s.Strings) * (s.Limit + 1) }

// ScratchSize returns the number of bytes of scratch memory that the code needs.
func (s *Signature) ScratchSize() int {
	size := ScratchPad + s.StringArea()
	if s.comparesStrings() {
		size += stringAreaSize
	}
	if s.Aggregate != nil {
		size += s.groupStackSize() + s.Aggregate.KeysSize()
	}
	return size
}

// Fits returns an error if there is no memory for the record that the program
// assembles.
func (s *Signature) Fits() error {
	size := s.FixedSize()
	if s.NeedsScratch() {
		size = s.ScratchSize()
	}
	if size > maxScratch {
		return fmt.Errorf("the record takes %d bytes of memory, and a BPF program has %d: follow fewer pointers or group by less", size, maxScratch)
	}
	return nil
}

// ComparedString returns how many bytes of each string a record needs for what is
// computed from it, one more than counts of the longest string; 0 if no string is
// looked at.
func (s *Signature) ComparedString() int {
	isString := func(in *Input) bool { return in.Source == InputString }
	for i := range s.Inputs {
		if isString(&s.Inputs[i]) {
			return filter.MaxString + 1
		}
	}
	if s.Aggregate != nil {
		for in := range s.Aggregate.Inputs {
			if isString(in) {
				return KeyString + 1
			}
		}
	}
	return 0
}

// The string area holds the string that a condition compares: its length in 8 bytes,
// and its bytes. A search may read that far beyond the place where it starts, for
// a piece as long.
const (
	StringData     = 8
	stringAreaSize = StringData + 3*filter.MaxString + 16
)

// StringArea is the offset of the string area from the record. A string at the last
// possible position is copied with its NUL and one byte that shows whether it
// goes on. The stack follows the strings.
func (s *Signature) StringArea() int {
	return (s.CursorMask()+1+s.Limit+2+7)&^7 + s.TailSize() + s.pairRoom()
}

func (s *Signature) comparesStrings() bool {
	for i := range s.Inputs {
		switch s.Inputs[i].Source {
		case InputString, InputComm, InputGoAddr, InputBytes, InputChars:
			return true
		}
	}
	return false
}

// maxStackKey is how many bytes of an aggregate's keys fit the stack of 512
// bytes.
const maxStackKey = 128

// NeedsScratch reports whether records, or the Inputs of conditions, are
// assembled in scratch memory.
func (s *Signature) NeedsScratch() bool {
	agg := s.Aggregate
	switch {
	case len(s.Indirects) > 0, len(s.Strings) > 0, s.TailSize() > 0, s.comparesStrings(), s.spills():
		return true
	case agg == nil:
		return s.Block > 0 && s.Condition != nil && !s.FiltersEarly()
	}
	return s.Block > 0 || agg.Whole || agg.readsStrings() || agg.StackPart() != nil || agg.KeysSize() > maxStackKey
}

// ReadsMemory reports whether the program reads memory that need not be resident.
func (s *Signature) ReadsMemory() bool {
	inMemory := func(op operand.Operand) bool { return op.Kind == operand.Memory }
	return len(s.Indirects) > 0 || len(s.Strings) > 0 || slices.ContainsFunc(s.Operands, inMemory) ||
		s.comparesStrings() || s.Aggregate != nil && s.Aggregate.readsStrings()
}

// pending returns how many results of steps wait for others at a time, at most.
func pending(steps []filter.Step) (most int) {
	n := 0
	for _, s := range steps {
		if s.Op == filter.Load || s.Op == filter.Push {
			n++
		} else {
			n--
		}
		most = max(most, n-1)
	}
	return most
}

// conditionPending is pending for the expressions of a condition.
func conditionPending(c *filter.Condition) int {
	if c == nil {
		return 0
	}
	return max(pending(c.Steps), conditionPending(c.Left), conditionPending(c.Right))
}

// spills reports whether the stack is too small for the operands and the results that
// wait behind them, so that the operands have to be elsewhere.
func (s *Signature) spills() bool {
	most := conditionPending(s.Condition)
	if s.Aggregate != nil {
		for _, parts := range [][]Part{s.Aggregate.Parts, s.Aggregate.Pair} {
			for i := range parts {
				most = max(most, pending(parts[i].Steps))
			}
		}
	}
	return most > 0 && len(s.Operands)+most > record.MaxReads
}

// GroupStackBytes returns the bytes of scratch memory that a stack takes before it is known
// whether it is new.
func (s *Signature) groupStackSize() int {
	if s.Aggregate.StackPart() == nil {
		return 0
	}
	return GroupStackSize(s.Aggregate.StackMost) + 8*s.Stack.Kernel
}

// GroupStackAt is where that memory is, from the record on.
func (s *Signature) GroupStackAt() int16 {
	return int16(s.ScratchSize() - ScratchPad - s.Aggregate.KeysSize() - s.groupStackSize())
}

// LimitRecord lowers the limit of each string until the record has no more than size bytes.
// It reports whether the rest of the record has so few.
func (s *Signature) LimitRecord(size int) bool {
	if n := len(s.Strings); n > 0 {
		s.Limit = max(0, min(s.Limit, (size-s.FixedSize()-s.TailSize())/n-1))
	}
	return s.RecordSize() <= size
}

// RecordSize returns the most bytes of a record.
func (s *Signature) RecordSize() int {
	return s.FixedSize() + s.stringsSize() + s.TailSize()
}

// StackPage is what the stack is copied by: memory is there, or not, by pages.
const StackPage = 4096

// StackCopy is how many bytes of the stack are copied, a multiple of StackPage.
const StackCopy = 4 * StackPage
