package attach

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/go-usdt/usdt/attach/internal/filter"
)

// Every event is one record in the ring buffer: a header, a fixed part with
// slots of 8 bytes (or the probe's argument block), and the bytes of strings,
// one after the other. All numbers are in the host's byte order.
const (
	headSite   = 0  // u32: index of the site
	headErrors = 4  // u32: bit i is set if read i of the signature failed; see [signature.failures]
	headTime   = 8  // u64: CLOCK_MONOTONIC
	headTask   = 16 // u64: process id << 32 | thread id
	headComm   = 24 // char[16]
	headSize   = 40

	maxReads      = 32 // bits in headErrors
	maxBlockReads = 64 // of signatures with an argument block
)

// Limits on a record with strings, whose scratch memory is a value of a per-CPU
// map: PCPU_MIN_UNIT_SIZE (include/linux/percpu.h) bounds that to 32 KiB.
const (
	maxScratch = 32 << 10
	scratchPad = 8 // the lock in front of the record
)

// signature is all that the code for a site depends on. Sites with equal
// signatures share it; [signature.key] tells equality.
type signature struct {
	operands []operand // read 0 …: one slot each

	// The argument block of a typed probe, the read after the operands.
	block       bool
	blockBase   location
	blockOffset int32
	blockSize   uint32

	// Memory behind pointers in the block, each a read after the block's. Extra
	// is what they add to the fixed part.
	indirects []indirect
	extra     uint32

	// Strings, each a read; they are the last ones.
	strings   []stringRead
	maxString uint32

	// The condition on which an event is wanted, nil for all, and what it looks
	// at: a Value's Index is one of inputs.
	where  *filter.Condition
	inputs []input

	aggregate *aggregateCode // nil to record events

	text string // key, once it has been asked for
}

// indirect is memory of known size to be copied to the fixed part. Offsets are
// from the start of the block.
type indirect struct {
	pointer uint32 // where the pointer is
	offset  uint32 // where to copy to
	size    uint32 // 0 if it is not needed
	// Of a slice: where the number of elements is, and their size; size is that
	// of the most elements that are copied. 0 of a pointer to one value.
	length, elem uint32
}

// stringRead is text, bytes or elements to be copied behind the fixed part.
type stringRead struct {
	sized bool // pointer and length lie in the fixed part; else text up to a NUL

	pointer, length uint32 // sized: offsets from the start of the block
	elem            uint32 // sized: bytes of an element; 0 for text and bytes
	region          int    // sized: the read of where pointer and length lie

	// Not sized: slot holds the pointer when it is read and, unless the text is
	// counted, the number of bytes copied afterwards.
	slot int

	// Counted: the length is lengthSize bytes in a slot, not up to a NUL.
	counted      bool
	lengthSlot   int
	lengthSize   uint8
	lengthSigned bool
}

// width is the size of what the length counts.
func (s *stringRead) width() int { return max(1, int(s.elem)) }

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

// reads returns the number of reads, each of which has a bit that says whether it
// failed.
func (s *signature) reads() int {
	n := len(s.operands) + len(s.indirects) + len(s.strings)
	if s.block {
		n++
	}
	return n
}

// blockStart is the offset of the argument block, before which lie the bits of
// failed reads, 64 of them.
func (s *signature) blockStart() int { return headSize + 8*len(s.operands) + 8 }

// failures returns the bits of the reads that failed.
func (s *signature) failures(rec []byte) uint64 {
	if s.block {
		return binary.NativeEndian.Uint64(rec[s.blockStart()-8:])
	}
	return uint64(binary.NativeEndian.Uint32(rec[headErrors:]))
}

// fixedSize is the size of a record before its strings.
func (s *signature) fixedSize() int {
	if !s.block {
		return headSize + 8*len(s.operands)
	}
	return s.blockStart() + int(s.blockSize+7)&^7 + int(s.extra)
}

// regionRead returns the number of the read for what lies at an offset from the
// start of the block.
func (s *signature) regionRead(off uint32) int {
	for i, in := range s.indirects {
		if off >= in.offset && off-in.offset < (in.size+7)&^7 {
			return len(s.operands) + 1 + i
		}
	}
	return len(s.operands)
}

// stringLimit is the number of bytes that are kept of each string: what was
// asked for, or less where several would not fit a record.
func (s *signature) stringLimit() int {
	limit := int(s.maxString)
	for ; limit > 0; limit /= 2 {
		if size := s.scratchSize(limit); size <= maxScratch {
			break
		}
	}
	return limit
}

// cursorMask bounds the position at which the next string goes, in a form that
// spares the verifier from telling all combinations of lengths apart.
func (s *signature) cursorMask(limit int) int {
	end := s.fixedSize() + len(s.strings)*(limit+1)
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
	size := s.fixedSize()
	if s.needsScratch() {
		size = s.scratchSize(s.stringLimit())
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
	if s.aggregate != nil && (s.block || s.aggregate.readsText() || s.aggregate.room() > maxStackKey) {
		return true
	}
	return len(s.strings) > 0 || len(s.indirects) > 0 || s.looksAtText() || s.block && s.where != nil
}

// readsMemory says that the program reads memory which need not be resident.
func (s *signature) readsMemory() bool {
	for i := range s.operands {
		if s.operands[i].kind == opMemory {
			return true
		}
	}
	if s.aggregate != nil && s.aggregate.readsText() {
		return true
	}
	return len(s.strings) > 0 || len(s.indirects) > 0 || s.looksAtText()
}
