package kernel

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// RingPosition is the position up to which a ring buffer has been read, in the page that
// the kernel shares with the reader (kernel/bpf/ringbuf.c: struct bpf_ringbuf). One
// goroutine at a time calls the methods, and reads.
type RingPosition struct {
	page    []byte
	stepped bool
}

// RingStep is how many bytes a position is stepped back: the least by which positions
// differ, BPF_RINGBUF_HDR_SZ of include/uapi/linux/bpf.h.
const RingStep = 8

// MapRingPosition returns the position of the ring buffer with that descriptor.
func MapRingPosition(fd int) (*RingPosition, error) {
	page, err := unix.Mmap(fd, 0, unix.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map the position of its reader: %w", err)
	}
	return &RingPosition{page: page}, nil
}

// position returns the position itself. The page is mapped until Close, and begins with an
// unsigned long, which has 8 bytes on all machines that programs are generated for.
func (p *RingPosition) position() *uint64 { return (*uint64)(unsafe.Pointer(&p.page[0])) }

// StepBack makes the position that of a reader which has not read everything. The kernel
// wakes up readers only for a record at the very position that has been read
// (bpf_ringbuf_commit), so that it wakes up nobody until Return. The step takes as much
// of the buffer.
func (p *RingPosition) StepBack() {
	if !p.stepped {
		p.stepped = true
		atomic.AddUint64(p.position(), ^uint64(RingStep-1))
	}
}

// Return undoes StepBack, before anything is read. A record that is written meanwhile is
// either there when Return has returned or wakes up the reader: both sides store, and then
// load what the other one has stored, with a full barrier between.
func (p *RingPosition) Return() {
	if p.stepped {
		p.stepped = false
		atomic.AddUint64(p.position(), RingStep)
	}
}

// Close undoes MapRingPosition.
func (p *RingPosition) Close() error {
	page := p.page
	p.page, p.stepped = nil, false
	if page == nil {
		return nil
	}
	return unix.Munmap(page)
}
