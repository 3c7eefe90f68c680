package stub

import (
	"sync/atomic"
	"unsafe"
)

// Semaphore is a probe's view of its semaphore: the address of a counter that
// the kernel keeps. Before its first Attach it must not be used.
type Semaphore struct {
	counter unsafe.Pointer // *uint32
}

// Attach makes counter the semaphore's counter. It must stay readable for the
// life of the process.
func (s *Semaphore) Attach(counter *uint32) {
	atomic.StorePointer(&s.counter, unsafe.Pointer(counter))
}

// Active reports whether the counter is not zero.
//
// The kernel changes the counter behind the compiler's back. The plain load
// cannot be hoisted over the atomic one before it, and costs one unit less of
// the inliner's budget than an atomic load: with it the Fire of a probe of six
// arguments inlines, whose cost is 79 of 80.
func (s *Semaphore) Active() bool {
	return *(*uint32)(atomic.LoadPointer(&s.counter)) != 0
}

// Any is a list of semaphores that are looked at together. It must not be changed
// once somebody may look.
type Any struct {
	counter *uint32
	next    *Any
}

// NewAny returns a list of the semaphore whose counter is that, which must stay
// readable for the life of the process, and of those of next, nil for none.
func NewAny(counter *uint32, next *Any) *Any { return &Any{counter, next} }

// Has reports whether the list begins with that counter.
func (a *Any) Has(counter *uint32) bool { return a != nil && a.counter == counter }

// Active reports whether one of the counters is not zero. The list must have been
// loaded atomically: for its plain loads see [Semaphore.Active].
func (a *Any) Active() bool {
	for {
		if *a.counter != 0 {
			return true
		}
		if a = a.next; a == nil {
			return false
		}
	}
}

// CountersPadding is how many bytes that read as zero must follow what
// AppendCounters is given.
const CountersPadding = 16

// AppendCounters appends the n counters of four bytes from first on, four at a
// time. The four bytes before first, if it does not lie at a multiple of eight,
// and CountersPadding bytes behind the counters must read as zero, and all must
// stay readable for the life of the process.
func AppendCounters(fours []*[2]uint64, first *uint32, n int) []*[2]uint64 {
	before := uintptr(unsafe.Pointer(first)) % 8
	// All that is read is memory outside Go's heap, as the caller vouches.
	p := (*[2]uint64)(unsafe.Add(unsafe.Pointer(first), -int(before)))
	all := unsafe.Slice(p, (int(before)+4*n+15)/16)
	for i := range all {
		fours = append(fours, &all[i])
	}
	return fours
}

// Counters is a list of semaphores, of which those that lie side by side are looked
// at together. It must not be changed once somebody may look.
type Counters struct {
	a, b *[2]uint64 // four semaphores each
	next *Counters
}

// NewCounters returns the list of fours.
func NewCounters(fours []*[2]uint64) *Counters {
	none := new([2]uint64)
	list := &Counters{a: none, b: none}
	for i := 0; i < len(fours); i += 2 {
		c := &Counters{fours[i], none, list}
		if i == 0 {
			c.next = nil
		}
		if i+1 < len(fours) {
			c.b = fours[i+1]
		}
		list = c
	}
	return list
}

// Active reports whether one of the counters is not zero. The list must have been
// loaded atomically: for its plain loads see [Semaphore.Active].
func (c *Counters) Active() bool {
	for {
		if c.a[0]|c.a[1]|c.b[0]|c.b[1] != 0 {
			return true
		}
		if c = c.next; c == nil {
			return false
		}
	}
}
