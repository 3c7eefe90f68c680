package record

import (
	"encoding/binary"
	"slices"
)

// Header is the beginning of every record.
type Header struct {
	Site     uint32 // the number of the site that fired
	Time     uint64 // by CLOCK_MONOTONIC
	PID, TID int
	Comm     string // the thread's name; 15 bytes are kept
}

func (h *Header) put(b []byte) {
	binary.NativeEndian.PutUint32(b[Site:], h.Site)
	binary.NativeEndian.PutUint64(b[Time:], h.Time)
	binary.NativeEndian.PutUint64(b[Task:], uint64(h.PID)<<32|uint64(uint32(h.TID)))
	copy(b[Comm:Comm+15], h.Comm)
}

// Memory copies len(b) bytes from an address in the process that fired, and reports
// whether all of them could be read.
type Memory func(address uint64, b []byte) bool

// Capture appends a record of an argument block in the format that BPF programs
// write. slots has a value for each slot. Unreadable parts are zero and marked as failed, as is a
// block with fewer bytes than the layout has; a block of no bytes is nil. Layouts with strings
// that are not Sized are for BPF programs only: such strings fail here.
func (l *Layout) Capture(rec []byte, h *Header, slots []uint64, block []byte, memory Memory) []byte {
	c := l.Begin(rec, h, slots, block)
	for c.Next() {
		if !memory(c.Address, c.To) {
			c.Fail()
		}
	}
	return c.Record()
}

// Capture is a record that is being made of an argument block. Its user copies what
// the block's pointers lead to; see Begin.
type Capture struct {
	// Address is the address from which to fill To, which is not empty. The pointer
	// lies Pointer bytes from the start of the block, in the block or an indirect.
	Address uint64
	Pointer uint32
	To      []byte

	layout *Layout
	rec    []byte
	start  int // where the record begins in rec
	read   int // number of the read that fills To
	next   int
	failed uint64
}

// Begin is like Capture for callers that have what a pointer leads to, not only its
// address:
//
//	c := layout.Begin(rec, header, slots, block)
//	for c.Next() {
//		copy(c.To, what c.Pointer leads to) // or c.Fail()
//	}
//	rec = c.Record()
func (l *Layout) Begin(rec []byte, h *Header, slots []uint64, block []byte) Capture {
	start := len(rec)
	rec = slices.Grow(rec, l.FixedSize())[:start+l.FixedSize()]
	fixed := rec[start:]
	clear(fixed)
	h.put(fixed)
	for i, v := range slots[:l.Slots] {
		binary.NativeEndian.PutUint64(fixed[Slot(i):], v)
	}
	c := Capture{layout: l, rec: rec, start: start, next: l.BlockRead() + 1}
	switch {
	case l.Block == 0:
		c.next = l.Reads()
	case len(block) < int(l.Block):
		c.failed |= 1 << l.BlockRead()
		if len(block) == 0 {
			c.failed |= 1 << NilBlock
		}
	default:
		copy(c.area(), block[:l.Block])
	}
	return c
}

// Next reports whether there is something to copy, and sets Address, Pointer and To
// accordingly. It skips what a pointer leads to if the pointer could not be read.
func (c *Capture) Next() bool {
	for c.next < c.layout.Reads() {
		c.read = c.next
		c.next++
		if i := c.read - c.layout.FirstString(); i >= 0 {
			c.copyString(&c.layout.Strings[i])
		} else {
			c.indirect(&c.layout.Indirects[c.read-c.layout.BlockRead()-1])
		}
		switch {
		case len(c.To) == 0:
		case c.Address == 0:
			c.Fail()
		default:
			return true
		}
	}
	return false
}

// Fail records that To could not be copied.
func (c *Capture) Fail() {
	c.failed |= 1 << c.read
	clear(c.To)
	if c.read >= c.layout.FirstString() {
		c.rec = c.rec[:len(c.rec)-len(c.To)]
	}
}

// Record returns the record, appended to the rec of Begin, once Next has returned
// false.
func (c *Capture) Record() []byte {
	if rec := c.rec[c.start:]; c.layout.Block > 0 {
		binary.NativeEndian.PutUint32(rec[Failures:], uint32(c.failed))
		binary.NativeEndian.PutUint64(rec[c.layout.FailuresOffset():], c.failed)
	}
	return c.rec
}

// indirect prepares the read of what a pointer leads to, or of the elements of a
// slice. A pointer that was not read is zero, and leads to nothing.
func (c *Capture) indirect(in *Indirect) {
	size := uint64(in.Size)
	if in.Elem != 0 {
		elem := uint64(in.Elem)
		size = min(c.word(in.Length), size/elem) * elem
	}
	c.Pointer, c.Address, c.To = in.Pointer, c.word(in.Pointer), c.area()[in.Offset:][:size]
}

// copyString prepares the read of a string and makes room for it.
func (c *Capture) copyString(s *String) {
	c.Pointer, c.Address, c.To = 0, 0, nil
	if !s.Sized {
		c.Fail()
		return
	}
	width := uint64(s.Width())
	size := int(min(c.word(s.Length), uint64(c.layout.Limit)/width) * width)
	end := len(c.rec)
	c.rec = slices.Grow(c.rec, size)[:end+size]
	c.Pointer, c.Address, c.To = s.Pointer, c.word(s.Pointer), c.rec[end:]
}

// area returns the fixed part of the record from the block on.
func (c *Capture) area() []byte {
	return c.rec[c.start+c.layout.BlockOffset() : c.start+c.layout.FixedSize()]
}

// word returns the 8 bytes at an offset from the start of the block.
func (c *Capture) word(offset uint32) uint64 { return binary.NativeEndian.Uint64(c.area()[offset:]) }
