package record

import (
	"encoding/binary"
	"fmt"
)

// Offsets in the header.
const (
	Site     = 0  // u32: the number of the site that fired
	Failures = 4  // u32: bit i is set if read i failed, of records without an argument block
	Time     = 8  // u64: CLOCK_MONOTONIC
	Task     = 16 // u64: process id << 32 | thread id
	Comm     = 24 // char[16]: the thread's name

	CommSize   = 16 // TASK_COMM_LEN, include/linux/sched.h
	HeaderSize = Comm + CommSize
)

// Record holds the bytes of an event, at least its header: see [Check].
type Record []byte

// Check returns b as a record, or an error if b is shorter than a header.
func Check(b []byte) (Record, error) {
	if len(b) < HeaderSize {
		return nil, errShort(len(b))
	}
	return b, nil
}

type errShort int // bytes

func (n errShort) Error() string {
	return fmt.Sprintf("event of %d bytes is shorter than its header", int(n))
}

// Site returns the number of the site that fired.
func (r Record) Site() uint32 { return binary.NativeEndian.Uint32(r[Site:]) }

// Time returns when the probe fired, by CLOCK_MONOTONIC; 0 if nobody asked for it.
func (r Record) Time() uint64 { return binary.NativeEndian.Uint64(r[Time:]) }

// PID returns the process id; 0 if the thread has none here, or if nobody asked for it.
func (r Record) PID() int { return int(binary.NativeEndian.Uint64(r[Task:]) >> 32) }

// TID returns the thread id, as PID does.
func (r Record) TID() int { return int(uint32(binary.NativeEndian.Uint64(r[Task:]))) }

// Comm returns the thread's name, padded with NULs; it is empty if nobody asked for it.
func (r Record) Comm() [CommSize]byte { return [CommSize]byte(r[Comm:]) }

// Slot returns the value of slot i.
func (r Record) Slot(i int) uint64 { return binary.NativeEndian.Uint64(r[Slot(i):]) }

// Number returns the number in the first size bytes of b.
func Number(b []byte, size uint8) uint64 {
	switch size {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.NativeEndian.Uint16(b))
	case 4:
		return uint64(binary.NativeEndian.Uint32(b))
	}
	return binary.NativeEndian.Uint64(b)
}
