package ring

import (
	"sync/atomic"
	"unsafe"
)

// How to write.
const (
	useCounter    = 1 << iota // the record's time is the CPU's counter
	useOwned                  // the shard belongs to the P on which the caller is pinned
	words                     // the record's block is words, of which Block leads to the addresses
	withGoroutine             // before them comes the address of the goroutine
)

// putPortably is what the assembly code of put does, in Go.
func putPortably(first *shard, mask, how, number uint32, r *Record) Result {
	time := r.time
	if how&useCounter != 0 {
		time = counter()
	}
	if how&useOwned != 0 {
		if first.closed.Load() != 0 {
			return Closed
		}
		return first.put(r, how, time)
	}
	shards := unsafe.Slice(first, mask+1)
	result := Closed
	for i := range mask + 1 {
		s := &shards[(number+i)&mask]
		if s.lock.CompareAndSwap(free, held) {
			result := s.put(r, how, time)
			s.lock.Store(free)
			return result
		}
		if s.lock.Load() != gone {
			result = Contended
		}
	}
	return result
}

// put writes a record into a shard that the caller owns or has locked.
func (s *shard) put(r *Record, how uint32, time uint64) Result {
	length := int(r.size)
	size := uint64(pad(length))
	at := s.head & s.mask
	var left uint64 // at the end of the area, where the record does not fit
	if at+size > s.mask+1 {
		left = s.mask + 1 - at
	}
	if end := s.head + left + size; end > s.room && s.tail == nil {
		return next
	} else if end > s.room && !s.look(end) {
		count := (*uint64)(unsafe.Add(s.public, atFull))
		atomic.StoreUint64(count, *count+1)
		return Full
	}
	if left > 0 {
		putWords(unsafe.Add(s.area, at), uint32(left), padding)
		at = 0
	}
	// All that follows lies within the area, which only this goroutine writes to.
	to := unsafe.Add(s.area, at)
	putWords(to, uint32(length), r.site)
	*(*uint64)(unsafe.Add(to, 8)) = time
	to = unsafe.Add(to, recordHeader)
	if how&withGoroutine != 0 {
		*(*uintptr)(to) = Goroutine()
		to = unsafe.Add(to, 8)
	}
	if how&words != 0 {
		for i, word := range unsafe.Slice((**uint64)(r.Block), r.Size/8) {
			*(*uint64)(unsafe.Add(to, 8*i)) = *word
		}
	} else {
		copy(unsafe.Slice((*byte)(to), r.Size), unsafe.Slice((*byte)(r.Block), r.Size))
	}
	to = unsafe.Add(to, r.Size)
	for _, t := range r.texts() {
		n := min(t.Length, r.Limit)
		copy(unsafe.Slice((*byte)(to), n), unsafe.Slice((*byte)(t.At), n))
		to = unsafe.Add(to, n)
	}
	s.head += left + size
	records := (*uint64)(unsafe.Add(s.public, atRecords))
	atomic.StoreUint64(records, *records+1)
	storeHead(s)
	return Recorded
}

// putWords writes the 8 bytes with which a record begins to a place for one in the shard.
func putWords(to unsafe.Pointer, size, site uint32) {
	*(*uint64)(to) = uint64(size) | uint64(site)<<32
}

// look reads the tracer's position and reports whether there is room up to end. A
// position that cannot be is no reason to overwrite anything.
func (s *shard) look(end uint64) bool {
	tail := atomic.LoadUint64((*uint64)(s.tail))
	if s.head-tail > s.mask+1 {
		return false
	}
	s.room = tail + s.mask + 1
	return end <= s.room
}

// storeHead makes what was written visible.
func storeHead(s *shard) { atomic.StoreUint64((*uint64)(unsafe.Add(s.public, atHead)), s.head) }
