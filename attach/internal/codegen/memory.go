package codegen

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/go-usdt/usdt/attach/internal/filter"
	"github.com/go-usdt/usdt/attach/internal/operand"
)

// Limits on a record with strings, whose scratch memory is a value of a per-CPU
// map: PCPU_MIN_UNIT_SIZE (include/linux/percpu.h) bounds that to 32 KiB.
const (
	maxScratch = 32 << 10
	scratchPad = 8 // the lock in front of the record
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

// cursorMask returns a mask that bounds the position of the next string behind
// the fixed part. With a mask the verifier need not follow all combinations of
// lengths.
func (s *Signature) cursorMask() int {
	return 1<<bits.Len(uint(s.FixedSize()+s.stringsSize())) - 1
}

// stringsSize returns the most bytes of the strings behind the fixed part. A terminated
// string is copied with its NUL.
func (s *Signature) stringsSize() int { return len(s.Strings) * (s.Limit + 1) }

// ScratchSize returns the number of bytes of scratch memory that the code needs.
func (s *Signature) ScratchSize() int {
	size := scratchPad + s.stringArea()
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
		for in := range s.Aggregate.inputs {
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

// stringArea is the offset of the string area from the record. A string at the last
// possible position is copied with its NUL and one byte that shows whether it
// goes on. The stack follows the strings.
func (s *Signature) stringArea() int {
	return (s.cursorMask()+1+s.Limit+2+7)&^7 + s.Stack.Size() + s.pairRoom()
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

// filters reports whether a condition, or sampling, may reject an event. A start is
// kept even then.
func (s *Signature) filters() bool {
	if s.Aggregate == nil || s.Aggregate.Role == RoleNone {
		return s.Condition != nil || s.Sample > 1
	}
	return s.Aggregate.Role == RoleEnd
}

// NeedsScratch reports whether records, or the inputs of conditions, are
// assembled in scratch memory.
func (s *Signature) NeedsScratch() bool {
	agg := s.Aggregate
	switch {
	case len(s.Indirects) > 0, len(s.Strings) > 0, s.Stack.Most > 0, s.comparesStrings(), s.spills():
		return true
	case agg == nil:
		return s.Block > 0 && s.Condition != nil && !s.filtersEarly()
	}
	return s.Block > 0 || agg.Whole || agg.readsStrings() || agg.StackPart() != nil || agg.KeysSize() > maxStackKey
}

// readsMemory reports whether the program reads memory that need not be resident.
func (s *Signature) readsMemory() bool {
	inMemory := func(op operand.Operand) bool { return op.Kind == operand.Memory }
	return len(s.Indirects) > 0 || len(s.Strings) > 0 || slices.ContainsFunc(s.Operands, inMemory) ||
		s.comparesStrings() || s.Aggregate != nil && s.Aggregate.readsStrings()
}
