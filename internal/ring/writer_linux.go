package ring

import (
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/sys"
)

// Writer writes records. All methods may be called by any goroutine, also after
// Close.
type Writer struct {
	shards   []shard        // the ones that Ps own, and then the shared ones
	owned    int            // how many Ps own one: P n the shard n
	how      uint32         // how to write: useCounter
	largest  uintptr        // bytes of a record
	counters unsafe.Pointer // the counters of Ps
	parts    parts
	data     mapped // unmapped by Close
	control  mapped
	// Files are the descriptors of the data file and the control file, for the tracer.
	// Close closes them, and Populated does once it is true.
	Files [2]int32
}

type mapped struct {
	at   unsafe.Pointer
	size int
}

// NewWriter makes the memory of a ring, whose geometry is one of GeometryFor. comm is the name of the process.
func NewWriter(g Geometry, clock Clock, comm string) (*Writer, error) {
	w := &Writer{}
	var err error
	if w.Files[0], err = w.data.make("usdt-events", g.dataSize(), unix.PROT_READ|unix.PROT_WRITE, unix.F_SEAL_FUTURE_WRITE); err != nil {
		return nil, err
	}
	if w.Files[1], err = w.control.make("usdt-positions", g.controlSize(), unix.PROT_READ, 0); err != nil {
		w.data.unmap()
		unix.Close(int(w.Files[0]))
		return nil, err
	}
	w.begin(g, clock, comm)
	w.largest = uintptr(min(MaxRecord, g.Size/2))
	for i := range w.shards {
		s := &w.shards[i]
		s.area = unsafe.Add(w.data.at, g.areas()+i*g.Size)
		s.mask = uint64(g.Size - 1)
		s.room = uint64(g.Size)
		s.public = unsafe.Add(w.data.at, atShard+i*shardStride)
		s.tail = unsafe.Add(w.control.at, i*line)
	}
	return w, nil
}

// begin writes the header.
func (w *Writer) begin(g Geometry, clock Clock, comm string) {
	header := unsafe.Slice((*byte)(w.data.at), headerSize)
	order.PutUint32(header[atVersion:], version)
	order.PutUint32(header[atShards:], uint32(g.Shards))
	order.PutUint64(header[atSize:], uint64(g.Size))
	order.PutUint64(header[atAreas:], uint64(g.areas()))
	order.PutUint32(header[atClock:], uint32(clock))
	order.PutUint32(header[atPID:], uint32(os.Getpid()))
	copy(header[atComm:atComm+15], comm)
	copy(header, magic)
	w.counters = unsafe.Add(w.data.at, atCounters)
	if clock == Counter {
		w.how = useCounter
	}
	w.shards = make([]shard, g.Shards)
	if mayOwn != 0 {
		w.owned = g.Shards / 2
	}
}

// make makes a memory file of size bytes, maps it, and seals it: it keeps its size.
// seals are further ones.
func (m *mapped) make(name string, size, prot, seals int) (file int32, err error) {
	if err := mayHave("ftruncate", size); err != nil {
		return -1, err
	}
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|unix.MFD_NOEXEC_SEAL)
	if err == unix.EINVAL { // before Linux 6.3
		fd, err = unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	}
	if err != nil {
		return -1, sys.Failed("memfd_create", err)
	}
	what := "ftruncate"
	if err = unix.Ftruncate(fd, int64(size)); err == nil {
		what, m.size = "mmap", size
		if m.at, err = unix.MmapPtr(fd, 0, nil, uintptr(size), prot, unix.MAP_SHARED); err == nil {
			what = "fcntl"
			if _, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals|unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL); err == nil {
				return int32(fd), nil
			}
			m.unmap()
		}
	}
	unix.Close(fd)
	return -1, sys.Failed(what, err)
}

// mayHave returns an error of a call that makes a file of size bytes, unless the process may
// have one. A signal ends one that exceeds the limit.
func mayHave(call string, size int) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
		return sys.Failed("prlimit64", err)
	}
	if limit.Cur < uint64(size) {
		return sys.Failed(call, unix.EFBIG)
	}
	return nil
}

func (m *mapped) unmap() error {
	if m.at == nil {
		return nil
	}
	err := unix.MunmapPtr(m.at, uintptr(m.size))
	m.at = nil
	return err
}

// Write writes a record, or counts it as lost.
func (w *Writer) Write(r *Record) Result {
	if r.how&words == 0 && !w.measure(r) {
		w.count(atLarge)
		return Full
	}
	how := w.how | r.how
	if how&useCounter == 0 {
		r.time = monotonic()
	}
	var result Result
	if p := pin(); p < w.owned {
		result = put(&w.shards[p], 0, how|useOwned, 0, r)
	} else {
		shared := w.shards[w.owned:]
		result = put(unsafe.SliceData(shared), uint32(len(shared)-1), how, uint32(p), r)
	}
	unpin()
	switch result {
	case next:
		return w.writeNext(r)
	case Contended:
		w.count(atContended)
	}
	return result
}

// measure sets the record's size, and reports whether a record may have it.
func (w *Writer) measure(r *Record) bool {
	length := recordHeader + r.Size
	if r.Count > 0 {
		for _, t := range r.texts() {
			length += min(t.Length, r.Limit)
		}
	}
	r.size = uint32(length)
	return length <= w.largest
}

// Filter counts a record that a condition or a sample has left out.
func (w *Writer) Filter() {
	p := pin()
	if p < countersOfPs {
		increment((*uint64)(unsafe.Add(w.counters, p*line)))
	}
	unpin()
	if p >= countersOfPs {
		w.count(atFiltered)
	}
}

// Populated reports whether the tracer has made all of the data file's memory exist,
// so that the kernel has charged the tracer for it and not this process.
func (w *Writer) Populated() bool {
	if w.Files[0] < 0 {
		return true
	}
	var st unix.Stat_t
	if unix.Fstat(int(w.Files[0]), &st) != nil || st.Blocks*512 < int64(w.data.size) {
		return false
	}
	w.closeFiles()
	w.data.touch()
	return true
}

// touch makes the kernel map all pages at once. Otherwise the first write to each page would
// interrupt its writer. Kernels before 5.14 do not know how.
func (m *mapped) touch() {
	unix.Madvise(unsafe.Slice((*byte)(m.at), m.size), unix.MADV_POPULATE_WRITE)
}

func (w *Writer) closeFiles() {
	for i, fd := range w.Files {
		if fd >= 0 {
			unix.Close(int(fd))
		}
		w.Files[i] = -1
	}
}

// Stop waits for goroutines that are writing. Afterwards nothing is written any more.
func (w *Writer) Stop() {
	for i := range w.owned {
		w.shards[i].closed.Store(1)
	}
	for i := w.owned; i < len(w.shards); i++ {
		for !w.shards[i].lock.CompareAndSwap(free, gone) {
			if w.shards[i].lock.Load() == gone {
				break
			}
			runtime.Gosched()
		}
	}
	if w.owned > 0 {
		// The runtime stops no goroutine that is pinned. A request for all stacks makes it stop
		// all goroutines, so by then each one that saw a shard open has written.
		runtime.Stack(nil, true)
	}
}

// Close stops, and unmaps the records. The records that were written stay in the files for the
// tracer. Only one goroutine may call it, once.
func (w *Writer) Close() {
	w.Stop()
	w.release()
}

// release gives up the memory and the files. A goroutine may still count: it does so
// in other memory from now on, which goes when nobody has the Writer any more.
func (w *Writer) release() {
	headers := w.data.size - len(w.shards)*w.size()
	at := w.data.at
	unix.MmapPtr(-1, 0, at, uintptr(headers), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_FIXED)
	unix.MunmapPtr(unsafe.Add(at, headers), uintptr(w.data.size-headers))
	w.data.size = headers
	runtime.SetFinalizer(w, func(w *Writer) { w.data.unmap() })
	w.control.unmap()
	w.closeFiles()
}

func (w *Writer) size() int { return int(w.shards[0].mask + 1) }

// count adds one to a counter that any goroutine adds to.
func (w *Writer) count(which uintptr) {
	p := pin()
	unpin()
	s := &w.shards[p&(len(w.shards)-1)]
	atomic.AddUint64((*uint64)(unsafe.Add(s.public, which)), 1)
}
