package sys

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Span is a range of address space. Once reserved, all of it stays readable for the
// life of the process, whatever is mapped in it, so that a goroutine may read through
// an address in the span that it got at any earlier time.
type Span struct {
	base unsafe.Pointer
	size uintptr
}

// idle holds the released spans. It is global because address space belongs to the
// process: if each user had a list, each would leave its spans behind.
var idle struct {
	Mutex
	spans []*Span
	stuck []*Span // spans that could not be cleared yet
}

// Reserve returns a span of at least size bytes that reads as zero.
func Reserve(size uint64) (*Span, error) {
	page := uint64(os.Getpagesize())
	want := uintptr((size + page - 1) &^ (page - 1))
	idle.Lock()
	best := -1
	for i, s := range idle.spans {
		if s.size >= want && (best < 0 || s.size < idle.spans[best].size) {
			best = i
		}
	}
	if best >= 0 {
		s := idle.spans[best]
		last := len(idle.spans) - 1
		idle.spans[best], idle.spans[last] = idle.spans[last], nil
		idle.spans = idle.spans[:last]
		idle.Unlock()
		return s, nil
	}
	idle.Unlock()
	base, err := unix.MmapPtr(-1, 0, nil, want, unix.PROT_READ, idleFlags)
	if err != nil {
		return nil, errorf("reserve %d bytes of address space: %w", want, err)
	}
	return &Span{base: base, size: want}, nil
}

const idleFlags = unix.MAP_PRIVATE | unix.MAP_ANON | unix.MAP_NORESERVE

// Map maps size bytes of f, privately and from offset on, at the same offset in the
// span. It replaces what was there in one step. offset must be a multiple of the page
// size, and prot should contain PROT_READ.
func (s *Span) Map(f *os.File, offset, size uint64, prot int) error {
	if offset+size > uint64(s.size) {
		return errorf("map %s: %#x+%#x is beyond the span of %#x bytes", f.Name(), offset, size, s.size)
	}
	// The address lies within the span, which belongs to us.
	addr := unsafe.Add(s.base, offset)
	if _, err := unix.MmapPtr(int(f.Fd()), int64(offset), addr, uintptr(size), prot, unix.MAP_PRIVATE|unix.MAP_FIXED); err != nil {
		return errorf("map %s: %w", f.Name(), err)
	}
	return nil
}

// Address returns the address of offset in the span.
func (s *Span) Address(offset uint64) uintptr { return uintptr(s.base) + uintptr(offset) }

// Counter returns the four bytes at offset, a multiple of four.
func (s *Span) Counter(offset uint64) *uint32 {
	// Mapped memory outside Go's heap: the collector ignores the pointer, and
	// the span never goes away.
	return (*uint32)(unsafe.Add(s.base, offset))
}

// Release unmaps the contents of the span, which then reads as zero, and allows
// others to use its address space. No goroutine may still execute in it. If the
// kernel has no memory for that, the contents stay until a later Release unmaps them.
func (s *Span) Release() error {
	idle.Lock()
	defer idle.Unlock()
	var left []*Span
	var err error
	for _, s := range append(idle.stuck, s) {
		if _, e := unix.MmapPtr(-1, 0, s.base, s.size, unix.PROT_READ, idleFlags|unix.MAP_FIXED); e != nil {
			left = append(left, s)
			err = errorf("release %d bytes of address space: %w", s.size, e)
			continue
		}
		idle.spans = append(idle.spans, s)
	}
	idle.stuck = left
	return err
}
