package attach

import (
	"fmt"
	"math/bits"

	"github.com/go-usdt/usdt/attach/internal/filter"
	"github.com/go-usdt/usdt/attach/internal/operand"
)

// Limits on a record with strings, whose scratch memory is a value of a per-CPU
// map: PCPU_MIN_UNIT_SIZE (include/linux/percpu.h) bounds that to 32 KiB.
const (
	maxScratch = 32 << 10
	scratchPad = 8 // the lock in front of the record
)

// read adds an operand to the records and returns its slot.
func (s *signature) read(op operand.Operand) (slot int) {
	s.operands = append(s.operands, op)
	s.Slots = len(s.operands)
	return s.Slots - 1
}

// key tells signatures apart. They do not change once it has been asked for.
func (s *signature) key() string {
	if s.text != "" {
		return s.text
	}
	flat := *s
	flat.where, flat.aggregate = nil, nil
	key := fmt.Sprintf("%+v", flat) + conditionKey(s.where)
	if s.aggregate != nil {
		key += fmt.Sprintf("%+v", *s.aggregate)
	}
	s.text = key
	return key
}

// limitStrings keeps less of each string than was asked for where several would
// not fit a record.
func (s *signature) limitStrings() {
	if len(s.Strings) == 0 {
		s.Limit = 0 // does not tell signatures apart
	}
	for s.Limit > 0 && s.scratchSize(s.Limit) > maxScratch {
		s.Limit /= 2
	}
}

// cursorMask bounds the position at which the next string goes, in a form that
// spares the verifier from telling all combinations of lengths apart.
func (s *signature) cursorMask(limit int) int {
	end := s.FixedSize() + len(s.Strings)*(limit+1)
	return 1<<bits.Len(uint(end)) - 1
}

func (s *signature) scratchSize(limit int) int {
	// A terminated string is copied with its NUL and one byte that tells
	// whether it goes on.
	size := scratchPad + s.textArea(limit)
	if s.looksAtText() {
		size += textAreaSize
	}
	if s.aggregate != nil {
		size += s.aggregate.room()
	}
	return size
}

// fits returns an error if there is no memory for what the program puts together.
func (s *signature) fits() error {
	size := s.FixedSize()
	if s.needsScratch() {
		size = s.scratchSize(s.Limit)
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
	textData     = 8
	textAreaSize = textData + 3*filter.MaxText + 16
)

// textArea is the offset of the text area from the record.
func (s *signature) textArea(limit int) int { return (s.cursorMask(limit) + 1 + limit + 2 + 7) &^ 7 }

func (s *signature) looksAtText() bool {
	for i := range s.inputs {
		switch s.inputs[i].source {
		case inputText, inputComm, inputGoAddr:
			return true
		}
	}
	return false
}

// maxStackKey bytes of an aggregate's keys fit the stack, whose end is at 512.
const maxStackKey = 128

// filters says that an event may turn out not to be wanted. A start is noted
// even then.
func (s *signature) filters() bool {
	if s.aggregate == nil || s.aggregate.role == roleNone {
		return s.where != nil
	}
	return s.aggregate.role == roleEnd
}

// needsScratch says that records, or what conditions look at, are put together
// in scratch memory.
func (s *signature) needsScratch() bool {
	if s.aggregate != nil && (s.Block > 0 || s.aggregate.readsText() || s.aggregate.room() > maxStackKey) {
		return true
	}
	return len(s.Strings) > 0 || len(s.Indirects) > 0 || s.looksAtText() || s.Block > 0 && s.where != nil
}

// readsMemory says that the program reads memory which need not be resident.
func (s *signature) readsMemory() bool {
	for i := range s.operands {
		if s.operands[i].Kind == operand.Memory {
			return true
		}
	}
	if s.aggregate != nil && s.aggregate.readsText() {
		return true
	}
	return len(s.Strings) > 0 || len(s.Indirects) > 0 || s.looksAtText()
}
