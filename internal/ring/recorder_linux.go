package ring

import (
	"errors"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/sys"
)

// NewRecorder returns a Writer that keeps the last records in a file, which it locks and
// which outlives the process. The file must be empty, and nobody may truncate it. FORMAT.md
// describes it.
func NewRecorder(file int, g Geometry, clock Clock, comm string) (*Writer, error) {
	w := &Writer{Files: [2]int32{-1, -1}}
	size := g.dataSize()
	if err := mayHave("fallocate", size+MaxObjects); err != nil {
		return nil, err
	}
	// The lock shows a search for old files that this one has its process. A search finds no old
	// files on a file system without locks.
	if err := unix.Flock(file, unix.LOCK_EX|unix.LOCK_NB); err == unix.EPERM || err == unix.ENOSYS {
		return nil, sys.Failed("flock", err)
	}
	// A page of the file that has no memory of its own could fail to be written, which ends the
	// process.
	if copies, err := copiesOnWrite(file); err != nil {
		return nil, sys.Failed("fstatfs", err)
	} else if copies {
		return nil, errors.New("the file system writes to other places each time (btrfs, ZFS, bcachefs), and a full disk would end the process: choose a directory of another one, such as /dev/shm")
	}
	err := allocate(file, int64(size))
	if err == unix.EOPNOTSUPP {
		return nil, errors.New("the file system cannot allocate a file's memory in advance (fallocate): choose a directory of another one")
	}
	if err != nil {
		return nil, sys.Failed("fallocate", err)
	}
	w.data.size = size
	if w.data.at, err = unix.MmapPtr(file, 0, nil, uintptr(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return nil, sys.Failed("mmap", err)
	}
	w.data.touch()
	w.begin(g, clock, comm)
	w.largest = partSize - partHeader
	header := unsafe.Slice((*byte)(w.data.at), headerSize)
	header[atMode] = recorderMode
	now := w.clocks()
	*(*[2]uint64)(unsafe.Add(w.data.at, atBegun)) = [2]uint64{now.wall, now.ring}
	w.parts.first, w.parts.n = unsafe.Add(w.data.at, g.areas()), uint64(g.Shards*g.Size/partSize)
	for i := range w.shards {
		s := &w.shards[i]
		s.mask = partSize - 1
		s.public = unsafe.Add(w.data.at, atShard+i*shardStride)
	}
	return w, nil
}

// allocatePart is how much of a file is allocated at a time, in some 50 µs.
const allocatePart = 256 << 10

// allocate allocates the memory of a file. A signal, such as Go's own, interrupts tmpfs, which then takes
// back what one call has allocated: so one call is short, and repeated.
func allocate(file int, size int64) error {
	for at := int64(0); at < size; {
		part := min(allocatePart, size-at)
		switch err := unix.Fallocate(file, 0, at, part); err {
		case nil:
			at += part
		case unix.EINTR:
		default:
			return err
		}
	}
	return nil
}

// copiesOnWrite reports whether a file is on a file system that allocates memory whenever
// a page is written, also where there is some already.
func copiesOnWrite(file int) (bool, error) {
	const zfs, bcachefs = 0x2fc12fc1, 0xca451a4e // sys/fs/zfs.h, fs/bcachefs/bcachefs_format.h
	var fs unix.Statfs_t
	if err := unix.Fstatfs(file, &fs); err != nil {
		return false, err
	}
	kind := uint32(fs.Type)
	return kind == unix.BTRFS_SUPER_MAGIC || kind == zfs || kind == bcachefs, nil
}

// parts are the parts of a recorder's file, which shards take in turn: so all of it is
// used, whichever CPUs are busy.
type parts struct {
	_ [0]func() // without a function that compares two
	sys.Mutex
	first unsafe.Pointer
	n     uint64
	last  uint64 // the number of the newest one; the first one is 1
}

// clockPair is what the two clocks show at one time.
type clockPair struct{ wall, ring uint64 }

// clocks reads both clocks some times, of which the one that took least counts: the program
// may be held up between two readings.
func (w *Writer) clocks() (p clockPair) {
	clock := monotonic
	if w.how&useCounter != 0 {
		clock = counter
	}
	least := uint64(1<<64 - 1)
	for range compareTries {
		before := clock()
		wall := uint64(time.Now().UnixNano())
		if took := clock() - before; took < least {
			least, p = took, clockPair{wall, before + took/2}
		}
	}
	return p
}

// writeNext writes a record that does not fit in the part of its shard any more.
func (w *Writer) writeNext(r *Record) Result {
	if r.turns++; r.turns > maxTurns {
		w.count(atContended) // whoever else writes fills each new part at once
		return Contended
	}
	w.makeRoom(uintptr(r.size))
	return w.Write(r)
}

// maxTurns is how often a record is tried to be written to a new part.
const maxTurns = 10

// makeRoom begins a part in the shard that this P's goroutines find first, if length
// bytes do not fit in it.
func (w *Writer) makeRoom(length uintptr) {
	w.parts.Lock() // which may block, so it comes before pin
	defer w.parts.Unlock()
	p := pin()
	defer unpin()
	if p < w.owned {
		if s := &w.shards[p]; s.closed.Load() == 0 && s.lacks(length) {
			w.nextPart(s)
		}
		return
	}
	shared := w.shards[w.owned:]
	for i := range shared {
		s := &shared[(p+i)&(len(shared)-1)]
		if s.lock.CompareAndSwap(free, held) {
			if s.lacks(length) {
				w.nextPart(s)
			}
			s.lock.Store(free)
			return
		}
	}
}

// lacks reports whether the shard's part has less than length bytes left.
func (s *shard) lacks(length uintptr) bool { return s.head+uint64(pad(int(length))) > s.room }

// nextPart begins a part, in place of the oldest one that no shard writes to. The
// caller holds the parts, and owns the shard or has locked it. The file is consistent at any
// moment: a part without a number is empty, one that a head is in ends there, and all others are
// whole.
func (w *Writer) nextPart(s *shard) {
	if at := s.head % partSize; at != 0 {
		putWords(unsafe.Add(s.area, at), uint32(partSize-at), padding)
	}
	number := w.parts.last + 1
	for w.writing(number % w.parts.n) {
		number++
	}
	w.parts.last = number
	part := (*[4]uint64)(unsafe.Add(w.parts.first, number%w.parts.n*partSize))
	atomic.StoreUint64(&part[0], 0)
	now := w.clocks()
	part[1], part[2] = now.ring, now.wall
	s.area = unsafe.Pointer(part)
	s.head = number*partSize + partHeader
	s.room = (number + 1) * partSize
	storeHead(s)
	atomic.StoreUint64(&part[0], number)
}

// writing reports whether a shard is in the part of this place. Its head may grow
// meanwhile, but only within the part.
func (w *Writer) writing(place uint64) bool {
	for i := range w.shards {
		head := atomic.LoadUint64((*uint64)(w.shards[i].public))
		if head != 0 && (head-1)/partSize%w.parts.n == place {
			return true
		}
	}
	return false
}

// AppendObject returns what a recorder's file has behind the areas for an object: the
// ELF image, and the numbers and locations of its probes. limit is the number of bytes
// that are kept of each string.
func AppendObject(b, image []byte, limit int, numbers []uint32, locations []uint64) []byte {
	size := objectHeader + 16*len(numbers) + pad(len(image))
	b = append(b, objectMagic...)
	b = order.AppendUint64(b, uint64(size))
	b = order.AppendUint64(b, uint64(len(image)))
	b = order.AppendUint32(order.AppendUint32(b, uint32(len(numbers))), uint32(limit))
	for i, n := range numbers {
		b = order.AppendUint64(order.AppendUint64(b, uint64(n)), locations[i])
	}
	b = append(b, image...)
	return append(b, make([]byte, pad(len(image))-len(image))...)
}
