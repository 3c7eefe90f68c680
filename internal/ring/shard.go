package ring

import (
	"sync/atomic"
	"unsafe"
)

// shard is what the process that writes knows of a shard, in memory of its own. A
// tracer may therefore write what it likes. Assembly code knows the offsets; a shard
// takes the lines of 128 bytes that CPUs fetch together.
type shard struct {
	_      [0]func()      // without a function that compares two
	lock   atomic.Uint32  // free, held or gone; of a shard that no P owns
	closed atomic.Uint32  // not 0 once nobody may write; of a shard that a P owns
	head   uint64         // bytes written so far, including bytes left free at the end
	room   uint64         // head up to which there was room at the last look at tail
	area   unsafe.Pointer // of the records; of a recorder the present part
	mask   uint64         // size of the area - 1
	public unsafe.Pointer // the shard's header in the data file
	tail   unsafe.Pointer // the tracer's position in the control file; nil for a recorder
	_      [128 - 56]byte
}

// States of a shard's lock.
const (
	free = iota
	held
	gone // for good: the memory is about to be unmapped
)

// Result is what became of a record.
type Result uint64

const (
	Recorded Result = iota
	Full            // the tracer has not made room
	Contended
	Closed
	next // of a recorder: the part is full
)

// Record is a record to be written. It may lie on the stack of the goroutine that
// writes it, as may what it points to.
type Record struct {
	site uint32 // and flags
	size uint32 // bytes of the record, set by Write
	time uint64 // of a ring without a Counter, set by Write
	// Block is what stands behind the record's header, Size bytes.
	Block unsafe.Pointer
	Size  uintptr
	// Texts leads to the addresses of Count texts, which stand behind the block. The record gets
	// Limit bytes of each.
	Texts **Text
	Count uintptr
	Limit uintptr
	how   uint32 // what the block is
	turns uint32 // new parts of a recorder that were begun for the record
}

// Text is memory that a record gets a copy of. A string is a Text, and a slice of bytes begins as one.
type Text struct {
	At     unsafe.Pointer
	Length uintptr
}

// Site sets the number of the site that fires. The block begins with the slots of the
// record's layout, and with a word of failures if failures.
func (r *Record) Site(number uint32, slots int, failures bool) {
	r.site = number | uint32(slots)<<slotsShift
	if failures {
		r.site |= hasFailures
	}
}

// Words returns a record whose block is the words of 8 bytes to which args point, behind
// the address of the goroutine that writes the record if goroutine.
func Words(args []unsafe.Pointer, goroutine bool) Record {
	how, size := uint32(words), uint32(recordHeader+8*len(args))
	if goroutine {
		how, size = words|withGoroutine, size+8
	}
	return Record{size: size, Block: unsafe.Pointer(unsafe.SliceData(args)), Size: uintptr(8 * len(args)), how: how}
}

// texts returns the texts, which the caller of Put keeps: Count says how many there are.
func (r *Record) texts() []*Text { return unsafe.Slice(r.Texts, r.Count) }
