package record_test

import (
	"encoding/binary"
	"testing"

	"github.com/go-usdt/usdt/internal/record"
)

// TestHeader writes a header at its offsets and reads it by its methods.
func TestHeader(t *testing.T) {
	b := make([]byte, record.HeaderSize+8)
	binary.NativeEndian.PutUint32(b[record.Site:], 7)
	binary.NativeEndian.PutUint32(b[record.Failures:], 5)
	binary.NativeEndian.PutUint64(b[record.Time:], 1<<40)
	binary.NativeEndian.PutUint64(b[record.Task:], 4711<<32|4712)
	copy(b[record.Comm:], "thread")
	binary.NativeEndian.PutUint64(b[record.Slot(0):], 1<<63)
	r, err := record.Check(b)
	if err != nil {
		t.Fatal(err)
	}
	if comm := r.Comm(); r.Site() != 7 || r.Time() != 1<<40 || r.PID() != 4711 || r.TID() != 4712 || comm != [16]byte{'t', 'h', 'r', 'e', 'a', 'd'} || r.Slot(0) != 1<<63 {
		t.Errorf("site %d, time %d, pid %d, tid %d, comm %q, slot %#x", r.Site(), r.Time(), r.PID(), r.TID(), comm, r.Slot(0))
	}
	if l := (&record.Layout{Slots: 1}); l.Failed(r) != 5 {
		t.Errorf("failures %b, want 101", l.Failed(r))
	}
	if _, err := record.Check(b[:record.HeaderSize-1]); err == nil {
		t.Error("a record without a whole header is no error")
	}
}

// TestSections checks that sections follow each other without overlapping, and
// that reads are numbered in their order.
func TestSections(t *testing.T) {
	plain := record.Layout{Slots: 3, Strings: make([]record.String, 2)}
	if size, first, all := plain.FixedSize(), plain.FirstString(), plain.Reads(); size != 40+3*8 || first != 3 || all != 5 {
		t.Errorf("without a block: %d bytes, first string %d, %d reads", size, first, all)
	}

	l := record.Layout{Slots: 1, Block: 20}
	if l.FailuresOffset() != 48 || l.BlockOffset() != 56 || l.FixedSize() != 56+24 {
		t.Errorf("failures at %d, block at %d, %d bytes, want 48, 56, 80", l.FailuresOffset(), l.BlockOffset(), l.FixedSize())
	}
	for i, want := range []uint32{24, 24 + 8} {
		if at := l.AddIndirect(record.Indirect{Pointer: uint32(8 * i), Size: 7}); at != want {
			t.Errorf("indirect %d is at %d, want %d", i, at, want)
		}
	}
	l.Strings = make([]record.String, 1)
	if l.FixedSize() != 56+40 || l.FirstString() != 4 || l.Reads() != 5 {
		t.Errorf("%d bytes, first string %d, %d reads, want 96, 4, 5", l.FixedSize(), l.FirstString(), l.Reads())
	}
	for offset, want := range map[uint32]int{0: 1, 23: 1, 24: 2, 31: 2, 32: 3, 39: 3} {
		if got := l.RegionRead(offset); got != want {
			t.Errorf("what lies at %d is of read %d, want %d", offset, got, want)
		}
	}
	r := make(record.Record, l.FixedSize())
	r[record.Failures] = 1
	binary.NativeEndian.PutUint64(r[l.FailuresOffset():], 1<<40)
	if l.Failed(r) != 1<<40 {
		t.Errorf("failures %#x, want those before the block", l.Failed(r))
	}
	l.Indirects[1].Size = 0 // not needed, but keeps its room
	if l.FixedSize() != 56+40 {
		t.Errorf("%d bytes when an indirect is left out, want 96", l.FixedSize())
	}
}

func TestWidth(t *testing.T) {
	for elem, want := range map[uint32]int{0: 1, 1: 1, 24: 24} {
		if s := (record.String{Elem: elem}); s.Width() != want {
			t.Errorf("elements of %d bytes are %d wide, want %d", elem, s.Width(), want)
		}
	}
}
