package record

import (
	"encoding/binary"
	"slices"
)

const (
	// MaxReads is the number of bits for failed reads in the header.
	MaxReads = 32
	// MaxBlockReads is their number in a record with an argument block.
	MaxBlockReads = 64
)

// Layout describes the sections of a site's records.
type Layout struct {
	// Slots is the number of values of 8 bytes.
	Slots int
	// Block is the size of the argument block; 0 if there is none.
	Block uint32
	// Indirects describes what pointers in the block lead to; see AddIndirect.
	Indirects []Indirect
	padded    uint32 // sum of their Padded
	// Strings describes the strings behind the fixed part. Limit bytes are kept of
	// each.
	Strings []String
	Limit   int
	// Stack describes what follows the strings.
	Stack Stack
}

// Indirect is memory of known size in the fixed part. Offsets are from the start
// of the block.
type Indirect struct {
	Pointer uint32 // offset of the pointer
	Offset  uint32 // offset of the copy
	Padded  uint32 // bytes for the copy, padded to 8
	Size    uint32 // bytes of the copy; 0 if it is not needed
	// For a slice: the offset of the number of elements, and the size of an element;
	// Size is that of the most elements that are copied. Both are 0 for a pointer to
	// one value.
	Length, Elem uint32
}

// String is a string, bytes or elements behind the fixed part.
type String struct {
	Sized bool // whether pointer and length lie in the block or an indirect; otherwise a string up to a NUL

	Pointer, Length uint32 // Sized: offsets from the start of the block
	Elem            uint32 // Sized: bytes of an element; 0 for strings and bytes
	Region          int    // Sized: the read that holds pointer and length

	// Not Sized: Slot holds the pointer before the read and, unless the string is
	// counted, the number of bytes copied afterwards.
	Slot int
	// Max is the number of bytes that the string is stored in, 0 if that is not known. It ends there
	// without a NUL.
	Max int

	// Counted: the string has a length, LengthSize bytes in a slot, and does not end at
	// a NUL.
	Counted      bool
	LengthSlot   int
	LengthSize   uint8
	LengthSigned bool
}

// Most returns how many of limit bytes a string up to a NUL may have.
func (s *String) Most(limit int) int {
	if s.Max > 0 {
		return min(limit, s.Max-1) // what is read is longer by the NUL and one byte
	}
	return limit
}

// Width returns the size in bytes of what the length counts.
func (s *String) Width() int { return max(1, int(s.Elem)) }

// Equal reports whether records of both layouts are alike.
func (l *Layout) Equal(o *Layout) bool {
	return l.Slots == o.Slots && l.Block == o.Block && slices.Equal(l.Indirects, o.Indirects) && l.padded == o.padded &&
		slices.Equal(l.Strings, o.Strings) && l.Limit == o.Limit && l.Stack == o.Stack
}

// Slot returns the offset of slot i.
func Slot(i int) int { return HeaderSize + 8*i }

// BlockOffset returns the offset of the argument block, which follows the failures.
func (l *Layout) BlockOffset() int { return Slot(l.Slots) + 8 }

// FailuresOffset returns the offset of the failures of a record with a block.
func (l *Layout) FailuresOffset() int { return Slot(l.Slots) }

// BlockRead returns the number of the read of the argument block.
func (l *Layout) BlockRead() int { return l.Slots }

// Reads returns the number of reads.
func (l *Layout) Reads() int { return l.FirstString() + len(l.Strings) }

// FirstString returns the number of the first string's read.
func (l *Layout) FirstString() int {
	n := l.Slots + len(l.Indirects)
	if l.Block > 0 {
		n++
	}
	return n
}

// RegionRead returns the number of the read that holds an offset from the start of
// the block.
func (l *Layout) RegionRead(offset uint32) int {
	for i := range l.Indirects {
		if in := &l.Indirects[i]; offset >= in.Offset && offset-in.Offset < in.Padded {
			return l.BlockRead() + 1 + i
		}
	}
	return l.BlockRead()
}

// FixedSize returns the size of a record without its strings. The compiler inlines it
// into the decoders of events.
func (l *Layout) FixedSize() int {
	if l.Block == 0 {
		return Slot(l.Slots)
	}
	return l.BlockOffset() + int(pad(l.Block)+l.padded)
}

// TailSize returns the largest number of bytes behind the strings.
func (l *Layout) TailSize() int { return l.Stack.Size() }

// DropTail leaves out what is behind the strings.
func (l *Layout) DropTail() { l.Stack = Stack{} }

// AddIndirect makes room for in at the end of the fixed part and returns its offset
// from the start of the block.
func (l *Layout) AddIndirect(in Indirect) uint32 {
	in.Offset = uint32(l.FixedSize() - l.BlockOffset())
	in.Padded = pad(in.Size)
	l.Indirects, l.padded = append(l.Indirects, in), l.padded+in.Padded
	return in.Offset
}

// Failed returns the failures of a record that has the whole fixed part.
func (l *Layout) Failed(r Record) uint64 {
	if l.Block > 0 {
		return binary.NativeEndian.Uint64(r[l.FailuresOffset():])
	}
	return uint64(binary.NativeEndian.Uint32(r[Failures:]))
}

// NilBlock is the bit that says, beside the one for the read of the block, that there is no
// block: the program has passed a nil pointer. If there are as many reads as bits, the last one
// that fails also has that bit.
const NilBlock = MaxBlockReads - 1

// IsNil reports whether a record that has the whole fixed part is one of a nil pointer to a
// block.
func (l *Layout) IsNil(r Record) bool {
	const none = 1 << NilBlock
	return l.Block > 0 && l.Failed(r)&none != 0 && l.Failed(r)&(1<<l.BlockRead()) != 0
}

func pad(size uint32) uint32 { return (size + 7) &^ 7 }
