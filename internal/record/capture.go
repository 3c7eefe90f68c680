package record

import (
	"encoding/binary"
	"slices"
)

// Header is what every record begins with.
type Header struct {
	Site     uint32 // the number of the site that fired
	Time     uint64 // by CLOCK_MONOTONIC
	PID, TID int
	Comm     string // the thread's name, of which 15 bytes are kept
}

// Memory copies len(b) bytes from an address in the process that fired, and reports
// whether all of them could be read.
type Memory func(address uint64, b []byte) bool

// Capture appends a record of an argument block, as BPF programs write it. slots has
// a value for each slot. What cannot be read is zero and marked as failed, and so is
// a block with fewer bytes than the layout has. A layout whose strings are not Sized
// is that of programs only: such strings fail.
func (l *Layout) Capture(rec []byte, h *Header, slots []uint64, block []byte, memory Memory) []byte {
	start := len(rec)
	rec = slices.Grow(rec, l.FixedSize())[:start+l.FixedSize()]
	fixed := rec[start:]
	clear(fixed)
	h.put(fixed)
	for i, v := range slots[:l.Slots] {
		binary.NativeEndian.PutUint64(fixed[Slot(i):], v)
	}
	if l.Block == 0 {
		return rec
	}
	c := capture{Layout: l, area: fixed[l.BlockOffset():], memory: memory}
	if len(block) < int(l.Block) {
		c.fail(l.BlockRead())
	} else {
		copy(c.area, block[:l.Block])
	}
	for i := range l.Indirects {
		c.indirect(i)
	}
	for i := range l.Strings {
		var ok bool
		if rec, ok = c.text(rec, &l.Strings[i]); !ok {
			c.fail(l.FirstString() + i)
		}
	}
	// Appending may have moved the record.
	at := rec[start:]
	binary.NativeEndian.PutUint32(at[Failures:], uint32(c.failed))
	binary.NativeEndian.PutUint64(at[l.FailuresOffset():], c.failed)
	return rec
}

func (h *Header) put(b []byte) {
	binary.NativeEndian.PutUint32(b[Site:], h.Site)
	binary.NativeEndian.PutUint64(b[Time:], h.Time)
	binary.NativeEndian.PutUint64(b[Task:], uint64(h.PID)<<32|uint64(uint32(h.TID)))
	copy(b[Comm:Comm+15], h.Comm)
}

// capture is a record that is being written.
type capture struct {
	*Layout
	area   []byte // of fixed: from the block on
	memory Memory
	failed uint64
}

func (c *capture) fail(read int) { c.failed |= 1 << read }

// indirect copies what a pointer leads to, or the elements of a slice. Without
// having been read, a pointer is zero, and leads to nothing.
func (c *capture) indirect(i int) {
	in := &c.Indirects[i]
	to, size := c.area[in.Offset:][:in.Size], uint64(in.Size)
	if in.Elem != 0 {
		elem := uint64(in.Elem)
		size = min(c.word(in.Length), size/elem) * elem
	}
	if !c.read(c.word(in.Pointer), to[:size]) {
		clear(to)
		c.fail(c.BlockRead() + 1 + i)
	}
}

// text appends a string to rec.
func (c *capture) text(rec []byte, s *String) (out []byte, ok bool) {
	if !s.Sized {
		return rec, false
	}
	width := uint64(s.Width())
	size := int(min(c.word(s.Length), uint64(c.Limit)/width) * width)
	end := len(rec)
	out = slices.Grow(rec, size)[:end+size]
	if !c.read(c.word(s.Pointer), out[end:]) {
		return rec, false
	}
	return out, true
}

func (c *capture) read(address uint64, b []byte) bool {
	return len(b) == 0 || address != 0 && c.memory(address, b)
}

// word returns the 8 bytes at an offset from the start of the block.
func (c *capture) word(offset uint32) uint64 { return binary.NativeEndian.Uint64(c.area[offset:]) }
