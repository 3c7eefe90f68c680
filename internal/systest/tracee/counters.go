package tracee

import (
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Counters are numbers of a process, one for each of its goroutines, in a file that it
// shares, so that they outlive a process that is killed.
type Counters []Counter

// Counter is a number that one goroutine counts.
type Counter struct {
	N atomic.Uint64
	_ [56]byte // of the cache line, which two goroutines must not share
}

// OpenCounters maps n counters from a file, which it makes if there is none.
func OpenCounters(path string, n int) (Counters, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size := n * int(unsafe.Sizeof(Counter{}))
	if err := f.Truncate(int64(size)); err != nil {
		return nil, err
	}
	m, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	return unsafe.Slice((*Counter)(unsafe.Pointer(&m[0])), n), nil
}

// Sum returns the sum of all counters.
func (c Counters) Sum() (n uint64) {
	for i := range c {
		n += c[i].N.Load()
	}
	return n
}

// Close unmaps the counters.
func (c Counters) Close() error {
	return unix.MunmapPtr(unsafe.Pointer(&c[0]), uintptr(len(c))*unsafe.Sizeof(Counter{}))
}
