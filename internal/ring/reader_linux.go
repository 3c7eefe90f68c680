package ring

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/record"
)

// Reader reads what a Writer writes. One goroutine at a time may call its methods,
// except Counts and Waiting, which may be called at any time before Close.
type Reader struct {
	data, control mapped
	shards        []cursor
	geometry      Geometry
	clock         Clock
	times         times
	task          uint64
	comm          [16]byte
	order         []int // shards with records in this round, the earliest first
	read          uint64
	frozen        bool          // what was written since Freeze is not read
	exactly       atomic.Uint64 // 1 + the number of records, once the last one was read
}

// cursor is what a Reader knows of a shard.
type cursor struct {
	area   []byte
	head   *uint64 // written by the other process
	tail   *uint64 // read by the other process
	pos    uint64  // the next record
	end    uint64  // of the records of this round
	freed  uint64  // the position that the other process knows
	site   uint32  // of the record at pos, with flags
	length int     // of that record
	time   uint64
}

// NewReader maps the files of a Writer, which have to be sealed. pid is the process's
// number here. now is the clock of the records that Next returns, in nanoseconds;
// nil means [Now].
//
// Mapping makes all of the memory exist, at this process's expense. The areas may have
// most bytes, or the fewest for the number of shards if those are more.
func NewReader(data, control *os.File, pid, most int, now func() uint64) (*Reader, error) {
	if now == nil {
		now = Now
	}
	r := &Reader{task: uint64(pid) << 32}
	if err := sealed(data, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL); err != nil {
		return nil, err
	}
	if err := sealed(control, unix.F_SEAL_SHRINK|unix.F_SEAL_SEAL); err != nil {
		return nil, err
	}
	var header [headerSize]byte
	if _, err := data.ReadAt(header[:], 0); err != nil {
		return nil, fmt.Errorf("read the header of a ring: %w", err)
	}
	if err := r.header(&header); err != nil {
		return nil, err
	}
	if g := r.geometry; g.Size > MinSize && g.Shards*g.Size > most {
		return nil, fmt.Errorf("the ring has %d bytes, and %d were asked for", g.Shards*g.Size, most)
	}
	var err error
	if r.data, err = share(data, r.geometry.dataSize(), unix.PROT_READ); err != nil {
		return nil, err
	}
	if r.control, err = share(control, r.geometry.controlSize(), unix.PROT_READ|unix.PROT_WRITE); err != nil {
		return nil, errors.Join(err, r.data.unmap())
	}
	g := r.geometry
	r.shards = make([]cursor, g.Shards)
	for i := range r.shards {
		c := &r.shards[i]
		c.area = unsafe.Slice((*byte)(unsafe.Add(r.data.at, g.areas()+i*g.Size)), g.Size)
		c.head = (*uint64)(unsafe.Add(r.data.at, atShard+i*shardStride+atHead))
		c.tail = (*uint64)(unsafe.Add(r.control.at, i*line))
	}
	r.times = newTimes(r.clock, now)
	return r, nil
}

// header takes what it needs from the header of the data file.
func (r *Reader) header(header *[headerSize]byte) error {
	if string(header[:len(magic)]) != magic {
		return errors.New("the shared memory is no ring")
	}
	if v := order.Uint32(header[atVersion:]); v != version {
		return fmt.Errorf("the ring has version %d, want %d", v, version)
	}
	size := order.Uint64(header[atSize:])
	if size > MaxTotal {
		size = 0
	}
	r.geometry = Geometry{Shards: int(order.Uint32(header[atShards:])), Size: int(size)}
	if err := r.geometry.check(); err != nil {
		return fmt.Errorf("the ring: %w", err)
	}
	r.clock = Clock(order.Uint32(header[atClock:]))
	if r.clock != Monotonic && r.clock != Counter {
		return fmt.Errorf("the ring has an unknown clock, %d", r.clock)
	}
	copy(r.comm[:15], header[atComm:])
	return nil
}

// sealed returns an error unless f is a memory file with these seals: without them, a
// mapping could lose its memory.
func sealed(f *os.File, want int) error {
	got, err := unix.FcntlInt(f.Fd(), unix.F_GET_SEALS, 0)
	if err != nil || got&want != want {
		return fmt.Errorf("the shared memory is not sealed: %v, seals %#x", err, got)
	}
	return nil
}

// share maps a file of a size, and makes its memory exist.
func share(f *os.File, size, prot int) (m mapped, err error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return m, fmt.Errorf("look at shared memory: %w", err)
	}
	if st.Size != int64(size) {
		return m, fmt.Errorf("shared memory of %d bytes, want %d", st.Size, size)
	}
	m.size = size
	m.at, err = unix.MmapPtr(int(f.Fd()), 0, nil, uintptr(size), prot, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return mapped{}, fmt.Errorf("map %d bytes of shared memory: %w", size, err)
	}
	return m, nil
}

// Poll begins a round: Next returns the records that were there at this time, or all
// that there are if final, which the caller sets once nobody writes any more. It
// reports whether there is a record. Records of the round before that were not
// returned belong to this one.
//
// A record that was made after one that Next has returned, by a goroutine that saw it,
// comes later.
func (r *Reader) Poll(final bool) (bool, error) {
	now := r.times.compare()
	r.order = r.order[:0]
	for i := range r.shards {
		c := &r.shards[i]
		end := c.end
		if !r.frozen {
			end = atomic.LoadUint64(c.head)
		}
		if end-c.pos > uint64(len(c.area)) {
			return false, fmt.Errorf("shard %d of the ring claims %d bytes, and has room for %d", i, end-c.pos, len(c.area))
		}
		c.end = end
		more, err := c.peek()
		if err != nil {
			return false, err
		}
		if more && (final || c.time < now) {
			r.insert(i)
		}
	}
	if r.times.limit = now; final {
		r.times.limit = 1<<64 - 1
		if len(r.order) == 0 {
			r.exactly.Store(1 + r.read)
		}
	}
	return len(r.order) > 0, nil
}

// Freeze makes what is there now all that Poll finds. Otherwise a reader might never come
// to an end, if the other process does not stop when it should.
func (r *Reader) Freeze() {
	if r.frozen {
		return
	}
	r.frozen = true
	for i := range r.shards {
		c := &r.shards[i]
		c.end = atomic.LoadUint64(c.head)
	}
}

// insert puts a shard into the order. Most often it comes first.
func (r *Reader) insert(shard int) {
	at := 0
	for at < len(r.order) && r.shards[r.order[at]].time < r.shards[shard].time {
		at++
	}
	r.order = append(r.order, 0)
	copy(r.order[at+1:], r.order[at:])
	r.order[at] = shard
}

// Next returns the next record of the round in the format of package record, in buf if
// there is room; ok is false at the end of the round. After an error, which the other
// process is to blame for, there is nothing more to read.
func (r *Reader) Next(buf []byte) (rec []byte, ok bool, err error) {
	if len(r.order) == 0 {
		return buf[:0], false, nil
	}
	c := &r.shards[r.order[0]]
	rec = r.record(c, buf)
	r.read++
	c.pos += uint64(pad(c.length))
	more, err := c.peek()
	if err != nil {
		r.order = r.order[:0]
		return rec, true, err
	}
	if more && c.time < r.times.limit {
		if len(r.order) > 1 && c.time > r.shards[r.order[1]].time {
			first := r.order[0]
			r.order = append(r.order[:0], r.order[1:]...)
			r.insert(first)
		}
	} else {
		r.order = append(r.order[:0], r.order[1:]...)
	}
	if c.pos-c.freed >= uint64(len(c.area)/4) || len(r.order) == 0 {
		r.free()
	}
	return rec, true, nil
}

// Time returns the time of the record that Next will return.
func (r *Reader) Time() (nanoseconds uint64, ok bool) {
	if len(r.order) == 0 {
		return 0, false
	}
	return r.times.of(r.shards[r.order[0]].time), true
}

// free tells the other process how far the shards were read.
func (r *Reader) free() {
	for i := range r.shards {
		if c := &r.shards[i]; c.freed != c.pos {
			c.freed = c.pos
			atomic.StoreUint64(c.tail, c.pos)
		}
	}
}

// peek looks at the record at the position, and reports whether there is one. It
// reads each word once, since the other process may change it at any time.
func (c *cursor) peek() (bool, error) {
	for c.pos != c.end {
		at := c.pos & uint64(len(c.area)-1)
		word := atomic.LoadUint64((*uint64)(unsafe.Pointer(&c.area[at])))
		length, site := uint64(uint32(word)), uint32(word>>32)
		left := min(c.end-c.pos, uint64(len(c.area))-at)
		if length > left || length > MaxRecord && site != padding {
			return false, fmt.Errorf("a record of %d bytes is longer than the %d that are left", length, min(left, MaxRecord))
		}
		if site == padding {
			if length%8 != 0 || length == 0 {
				return false, fmt.Errorf("%d bytes of padding are no multiple of 8", length)
			}
			c.pos += length
			continue
		}
		if length < recordHeader || uint64(pad(int(length))) > left {
			return false, fmt.Errorf("a record of %d bytes is shorter than its header, or longer than the %d that are left", length, left)
		}
		c.site, c.length = site, int(length)
		c.time = atomic.LoadUint64((*uint64)(unsafe.Pointer(&c.area[at+8])))
		return true, nil
	}
	return false, nil
}

// record returns the record at a shard's position in the format of package record.
func (r *Reader) record(c *cursor, buf []byte) []byte {
	at := c.pos & uint64(len(c.area)-1)
	return r.compose(buf, c.site, r.times.of(c.time), c.area[at+recordHeader:at+uint64(c.length)])
}

// compose returns a record of a site, with its flags, whose body is in a ring.
func (r *Reader) compose(buf []byte, site uint32, time uint64, body []byte) []byte {
	size := record.HeaderSize + 8 + len(body)
	if cap(buf) < size {
		buf = make([]byte, size, 2*size)
	}
	buf = buf[:size]
	order.PutUint64(buf[record.Site:], uint64(site&siteMask)) // and no failures
	order.PutUint64(buf[record.Time:], time)
	order.PutUint64(buf[record.Task:], r.task)
	copy(buf[record.Comm:], r.comm[:])
	n := record.HeaderSize
	slots := copy(buf[n:], body[:min(len(body), 8*int(site>>slotsShift&3))])
	body = body[slots:]
	n += slots
	if len(body) > 0 {
		if site&hasFailures == 0 {
			order.PutUint64(buf[n:], 0)
			n += 8
		}
		n += copy(buf[n:], body)
	}
	return buf[:n]
}

// Waiting reports whether there are records that Next has not returned.
func (r *Reader) Waiting() bool {
	for i := range r.shards {
		c := &r.shards[i]
		if atomic.LoadUint64(c.head) != atomic.LoadUint64(c.tail) {
			return true
		}
	}
	return false
}

// Counts returns what has become of events so far. It is exact once a final round has
// found nothing more: a process that was killed may have counted a record that it had
// not yet made visible.
func (r *Reader) Counts() (n Counts) {
	for i := range countersOfPs {
		n.Filtered += atomic.LoadUint64((*uint64)(unsafe.Add(r.data.at, atCounters+i*line)))
	}
	for i := range r.shards {
		at := unsafe.Add(r.data.at, atShard+i*shardStride)
		load := func(offset uintptr) uint64 { return atomic.LoadUint64((*uint64)(unsafe.Add(at, offset))) }
		n.Recorded += load(atRecords)
		n.Full += load(atFull) + load(atLarge)
		n.Filtered += load(atFiltered)
		n.Contended += load(atContended)
	}
	if exactly := r.exactly.Load(); exactly > 0 {
		n.Recorded = exactly - 1
	}
	return n
}

// Close unmaps the memory.
func (r *Reader) Close() error { return errors.Join(r.data.unmap(), r.control.unmap()) }
