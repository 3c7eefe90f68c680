package stub

import (
	"sync/atomic"
	"unsafe"
)

// Idle holds the semaphores of what is not loaded: words that stay zero, at an
// address that the linker knows. Other semaphores are stored as their distance from
// Idle, so that a zero value refers to Idle, without a test for nil.
var Idle struct{ Words words }

// beyond returns the distance from Idle to memory outside Go's heap. The collector
// need not know the pointer that is made of it again.
func beyond(p unsafe.Pointer) uintptr { return uintptr(p) - uintptr(unsafe.Pointer(&Idle)) }

// Semaphore refers to a probe's semaphore: a counter that the kernel keeps. The zero
// value refers to Idle.
type Semaphore uintptr

// Attach makes s refer to counter, or to Idle if counter is nil. The counter must
// stay readable for the life of the process.
func (s *Semaphore) Attach(counter *uint32) {
	var at uintptr
	if counter != nil {
		at = beyond(unsafe.Pointer(counter))
	}
	atomic.StoreUintptr((*uintptr)(s), at)
}

// Counter returns the counter.
func (s *Semaphore) Counter() *uint32 {
	return (*uint32)(unsafe.Add(unsafe.Pointer(&Idle.Words), atomic.LoadUintptr((*uintptr)(s))))
}

// Active reports whether the counter is not zero.
//
// The kernel changes the counter behind the compiler's back. The plain load cannot be
// hoisted over the atomic one before it. On arm64 it costs less than an atomic load.
func (s *Semaphore) Active() bool {
	return *(*uint32)(unsafe.Add(unsafe.Pointer(&Idle.Words), atomic.LoadUintptr((*uintptr)(s)))) != 0
}

// Any refers to several semaphores, mostly to one or two. The zero value refers to none.
type Any struct {
	_ [0]func() // without a function that compares two
	// The only ones, or one that is not zero if there are more.
	near, far Semaphore
	all       atomic.Pointer[[]*uint32]
}

// Set makes a refer to counters, which must stay readable for the life of the
// process. Meanwhile, Active looks at all of them.
func (a *Any) Set(counters []*uint32) {
	a.all.Store(&counters)
	a.near.Attach(Always())
	switch len(counters) {
	case 0:
		a.far.Attach(nil)
		a.near.Attach(nil)
	case 1:
		a.far.Attach(nil)
		a.near.Attach(counters[0])
	case 2:
		a.far.Attach(counters[1])
		a.near.Attach(counters[0])
	}
}

// Active reports whether one of the counters is not zero. scan must be (*Any).Scan:
// see [Many.Active].
func (a *Any) Active(scan func(*Any) bool) bool {
	return (a.near.Active() || a.far.Active()) && scan(a)
}

// Scan reports whether one of the counters is not zero.
//
//go:noinline
func (a *Any) Scan() bool {
	for _, counter := range *a.all.Load() {
		if *counter != 0 {
			return true
		}
	}
	return false
}

// words are eight semaphores, a number that costs a check of a provider next to
// nothing.
type words struct{ a, b, c, d uint64 }

// busy holds words that are not zero. A pointer to it leads to a closer look. The first
// semaphore in it is raised by the kernel, and above the 16 bits in which the kernel
// counts.
var busy = words{a: 1<<16 | 1}

// Always returns a counter that the kernel has raised, and somebody else.
func Always() *uint32 { return (*uint32)(unsafe.Pointer(&busy)) }

// Many refers to semaphores that lie side by side, two in a word. The zero value
// refers to none.
type Many struct {
	_ [0]func() // without a function that compares two
	// Distances from Idle of the words if they are few: the words of one object, or of
	// two objects. If there are more, near is that of busy.
	near, far uintptr
	all       atomic.Pointer[Rows]
}

// Rows holds the semaphores of objects.
type Rows struct {
	few  []*words
	long [][]uint64 // the semaphores of objects that have many
	wide bool       // whether one of few needs more than the first half of its words
}

// RowPadding is the number of bytes that must follow the semaphores of an object and
// read as zero.
const RowPadding = 28

// longRow is the number of words from which on comparing vectors pays.
const longRow = 64

// Add adds n semaphores of an object, four bytes each, from first on. RowPadding
// bytes behind the semaphores must read as zero, as must the four bytes before first
// if first is not at a multiple of eight. All must stay readable for the life of the
// process.
func (r *Rows) Add(first *uint32, n int) {
	before := uintptr(unsafe.Pointer(first)) % 8
	// All reads are from memory outside Go's heap, as the caller guarantees.
	p := unsafe.Add(unsafe.Pointer(first), -int(before))
	size := (int(before) + 4*n + 7) / 8
	if size > longRow {
		r.long = append(r.long, unsafe.Slice((*uint64)(p), size))
		return
	}
	r.wide = r.wide || size > 2
	for range (size + 3) / 4 {
		r.few = append(r.few, (*words)(p))
		p = unsafe.Add(p, unsafe.Sizeof(words{}))
	}
}

// Always adds semaphores that are not zero.
func (r *Rows) Always() { r.few = append(r.few, &busy) }

// Set makes m refer to the semaphores in rows. Meanwhile, Active looks at all of them.
func (m *Many) Set(rows *Rows) {
	m.all.Store(rows)
	atomic.StoreUintptr(&m.near, beyond(unsafe.Pointer(&busy)))
	near, far := &Idle.Words, &Idle.Words
	switch {
	case len(rows.few)+len(rows.long) == 0:
	case len(rows.few) == 1 && len(rows.long) == 0:
		near = rows.few[0]
		far = (*words)(unsafe.Pointer(&near.c))
	case len(rows.few) == 2 && len(rows.long) == 0 && !rows.wide:
		near, far = rows.few[0], rows.few[1]
	default:
		return
	}
	atomic.StoreUintptr(&m.far, beyond(unsafe.Pointer(far)))
	atomic.StoreUintptr(&m.near, beyond(unsafe.Pointer(near)))
}

// Active reports whether one of the counters is not zero. scan must be (*Many).Scan:
// the inliner takes the call of a parameter for a cheap one, and so inlines Active
// and what calls it. For its plain loads see [Semaphore.Active].
func (m *Many) Active(scan func(*Many) bool) bool {
	w := (*words)(unsafe.Add(unsafe.Pointer(&Idle.Words), atomic.LoadUintptr(&m.near)))
	v := (*words)(unsafe.Add(unsafe.Pointer(&Idle.Words), atomic.LoadUintptr(&m.far)))
	return w.a|w.b|v.a|v.b != 0 && scan(m)
}

// Scan reports whether one of the counters is not zero.
//
//go:noinline
func (m *Many) Scan() bool {
	all := m.all.Load()
	for _, w := range all.few {
		if w.a|w.b|w.c|w.d != 0 {
			return true
		}
	}
	for _, row := range all.long {
		// All words are zero if the first one is, and each equals the next. The
		// runtime compares strings by vectors.
		bytes := unsafe.String((*byte)(unsafe.Pointer(unsafe.SliceData(row))), 8*len(row))
		if row[0] != 0 || bytes[8:] != bytes[:len(bytes)-8] {
			return true
		}
	}
	return false
}
