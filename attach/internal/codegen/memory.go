package codegen

import (
	"fmt"
	"math/bits"

	"github.com/go-usdt/usdt/attach/internal/filter"
)

// Limits on a record with strings, whose scratch memory is a value of a per-CPU
// map: PCPU_MIN_UNIT_SIZE (include/linux/percpu.h) bounds that to 32 KiB.
const (
	maxScratch = 32 << 10
	scratchPad = 8 // the lock in front of the record
)

// LimitStrings keeps less of each string than was asked for where several would
// not fit a record.
func (s *Signature) LimitStrings() {
	if len(s.Strings) == 0 {
		s.Limit = 0 // does not tell signatures apart
	}
	for s.Limit > 0 && s.ScratchSize() > maxScratch {
		s.Limit /= 2
	}
}

// cursorMask bounds the position of what comes next behind the fixed part, in a
// form that spares the verifier from telling all combinations of lengths apart.
func (s *Signature) cursorMask() int {
	end := s.FixedSize()
	for _, sec := range sections {
		if sec.behind != nil {
			end += sec.behind(s)
		}
	}
	return 1<<bits.Len(uint(end)) - 1
}

// ScratchSize is the bytes of scratch memory that the code needs.
func (s *Signature) ScratchSize() int {
	size := scratchPad + s.textArea()
	if s.looksAtText() {
		size += textAreaSize
	}
	if s.Aggregate != nil {
		size += s.Aggregate.Room()
	}
	return size
}

// Fits returns an error if there is no memory for what the program puts together.
func (s *Signature) Fits() error {
	size := s.FixedSize()
	if s.NeedsScratch() {
		size = s.ScratchSize()
	}
	if size > maxScratch {
		return fmt.Errorf("its arguments and what is looked at take %d bytes of memory, and a BPF program has %d: follow or group by less", size, maxScratch)
	}
	return nil
}

// The text area is where a condition gets text to look at: its length in 8
// bytes, and what there is of it. A search may look that much further beyond
// the place where it starts, and for as long a text.
const (
	TextData     = 8
	textAreaSize = TextData + 3*filter.MaxText + 16
)

// textArea is the offset of the text area from the record. At the last position that
// a string can have, it is copied with its NUL and one byte that tells whether it
// goes on.
func (s *Signature) textArea() int { return (s.cursorMask() + 1 + s.Limit + 2 + 7) &^ 7 }

func (s *Signature) looksAtText() bool {
	for i := range s.Inputs {
		switch s.Inputs[i].Source {
		case InputText, InputComm, InputGoAddr:
			return true
		}
	}
	return false
}

// maxStackKey bytes of an aggregate's keys fit the stack, whose end is at 512.
const maxStackKey = 128

// filters says that an event may turn out not to be wanted. A start is noted
// even then.
func (s *Signature) filters() bool {
	if s.Aggregate == nil || s.Aggregate.Role == RoleNone {
		return s.Where != nil
	}
	return s.Aggregate.Role == RoleEnd
}

// NeedsScratch says that records, or what conditions look at, are put together
// in scratch memory.
func (s *Signature) NeedsScratch() bool {
	for _, sec := range sections {
		if sec.scratch != nil && sec.scratch(s) {
			return true
		}
	}
	return s.looksAtText() || s.Aggregate != nil && (s.Aggregate.readsText() || s.Aggregate.Room() > maxStackKey)
}

// readsMemory says that the program reads memory which need not be resident.
func (s *Signature) readsMemory() bool {
	for _, sec := range sections {
		if sec.memory != nil && sec.memory(s) {
			return true
		}
	}
	return s.looksAtText() || s.Aggregate != nil && s.Aggregate.readsText()
}
