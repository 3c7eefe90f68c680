package ring

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Recording is what a recorder's file held when it was opened.
type Recording struct {
	PID   int    // as the process had it
	Comm  string // the process's name
	Begun time.Time

	data     []byte
	geometry Geometry
	sites    []RecordedSite
	counts   RecordingCounts
	pairs    []clockPair // by the ring's time
	records  []recorded
	damaged  int // bytes of parts that cannot be read
}

// RecordedSite is a probe of which there may be records.
type RecordedSite struct {
	Number   uint32 // in records
	Object   []byte // an ELF image that has the probe
	Location uint64 // in the probe's note
	Limit    int    // bytes that are kept of each string
}

// RecordingCounts is what became of the events that were to be recorded.
type RecordingCounts struct {
	Recorded  uint64 // in all
	Kept      uint64 // that are still there
	Damaged   uint64 // parts of the file that cannot be read to their end
	Illegible uint64 // events in these parts that cannot be read, an estimate unless Exact
	Exact     bool   // no event has been replaced by a later one
	Unknown   uint64 // records of probes that nothing in the file describes
	Large     uint64 // lost, since they did not fit into a part
	Contended uint64 // lost, since all shards were being written to
}

// recorded is the place of a record.
type recorded struct {
	at   int
	time uint64
}

// maxRecording is the size of the largest file that is read.
const maxRecording int64 = 2 << 30

// OpenRecording reads a recorder's file, of a process that may still be writing to it.
func OpenRecording(path string) (*Recording, error) {
	// A FIFO keeps nobody waiting.
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, errors.Unwrap(err) // the caller names the path
	}
	defer f.Close()
	st, err := f.Stat()
	switch {
	case err != nil:
		return nil, errors.Unwrap(err)
	case !st.Mode().IsRegular():
		return nil, errors.New("it is no regular file")
	case st.Size() == 0:
		return nil, errors.New("it is empty")
	case st.Size() > maxRecording:
		return nil, fmt.Errorf("it has more than %d bytes", maxRecording)
	}
	return read(f)
}

// read reads a file. A process may be writing to it: the parts come first, and then the
// objects, which describe all that was recorded until then.
func read(f io.ReaderAt) (*Recording, error) {
	var header [headerSize]byte
	n, err := f.ReadAt(header[:], 0)
	if err != nil && err != io.EOF {
		return nil, err
	}
	r := &Recording{}
	if err := r.header(header[:n]); err != nil {
		return nil, err
	}
	size := r.geometry.dataSize()
	r.data = make([]byte, size)
	heads, err := r.heads(f)
	if err != nil {
		return nil, err
	}
	var parts []part
	for at := r.geometry.areas(); at < size; at += partSize {
		p, err := r.copyPart(f, at, &heads)
		if err != nil {
			return nil, err
		}
		parts = append(parts, p)
	}
	if n, err := f.ReadAt(r.data[:r.geometry.areas()], 0); n < r.geometry.areas() {
		return nil, err
	}
	objects, err := io.ReadAll(io.NewSectionReader(f, int64(size), maxRecording))
	if err != nil {
		return nil, err
	}
	r.objects(objects)
	r.find(parts)
	return r, nil
}

// header takes what it needs from the header.
func (r *Recording) header(b []byte) error {
	if len(b) < headerSize || string(b[:len(magic)]) != magic || order.Uint32(b[atMode:]) != recorderMode {
		return errors.New("it is neither the file of a flight recorder nor one of sdttrace record")
	}
	if v := order.Uint32(b[atVersion:]); v != version {
		return fmt.Errorf("it has version %d of the format, and this program reads version %d", v, version)
	}
	r.PID = int(order.Uint32(b[atPID:]))
	r.Comm, _, _ = strings.Cut(string(b[atComm:atComm+16]), "\x00")
	r.geometry = Geometry{Shards: int(order.Uint32(b[atShards:])), Size: int(min(order.Uint64(b[atSize:]), MaxTotal+1))}
	if err := r.geometry.check(); err != nil {
		return err
	}
	r.Begun = time.Unix(0, int64(order.Uint64(b[atBegun:])))
	r.pairs = append(r.pairs, clockPair{order.Uint64(b[atBegun:]), order.Uint64(b[atBegun+8:])})
	return nil
}

// heads are what a file says of the parts that are being written.
type heads struct {
	ends   map[uint64]int // of the parts with these numbers
	newest uint64         // the largest of these numbers
}

// heads reads the heads of the shards as they were at one time: it looks again if a shard
// has begun a part meanwhile.
func (r *Recording) heads(f io.ReaderAt) (h heads, err error) {
	b := make([]byte, r.geometry.Shards*shardStride)
	before := make([]uint64, r.geometry.Shards)
	for try := range 100 {
		if n, err := f.ReadAt(b, atShard); n < len(b) {
			return h, fmt.Errorf("read the heads of %d shards: %w", r.geometry.Shards, err)
		}
		h = heads{ends: map[uint64]int{}}
		steady := try > 0
		for i := range before {
			head := order.Uint64(b[i*shardStride+atHead:])
			number := (head - 1) / partSize
			steady = steady && number == before[i]
			before[i] = number
			if head > 0 {
				h.ends[number], h.newest = int((head-1)%partSize)+1, max(h.newest, number)
			}
		}
		if steady {
			break
		}
	}
	return h, nil
}

// part is what a file holds of a part.
type part struct {
	at, end int // in the file, and from there on
	number  uint64
}

// copyPart copies the part at a place. If it is younger than the heads, these may not say
// that it is being written: both are read again.
func (r *Recording) copyPart(f io.ReaderAt, at int, h *heads) (p part, err error) {
	b := r.data[at : at+partSize]
	for try := 0; ; try++ {
		if n, err := f.ReadAt(b, int64(at)); n < len(b) {
			return p, fmt.Errorf("it ends before %d bytes, behind which the descriptions of its probes would be: nothing tells what its records mean (%w)", len(r.data), err)
		}
		p = part{at, partSize, order.Uint64(b)}
		if end, ok := h.ends[p.number]; ok {
			p.end = end
		}
		var again [8]byte
		if _, err := f.ReadAt(again[:], int64(at)); err != nil {
			return p, err
		}
		if p.number <= h.newest && p.number == order.Uint64(again[:]) {
			return p, nil
		}
		if *h, err = r.heads(f); err != nil {
			return p, err
		}
		switch {
		case p.number > h.newest && p.number == order.Uint64(again[:]): // which cannot be: the head is damaged
			return p, nil
		case try == 3: // it was begun each time
			return part{at: at}, nil
		}
	}
}

// find finds the records, and sorts them.
func (r *Recording) find(parts []part) {
	known := map[uint32]bool{}
	for _, s := range r.sites {
		known[s.Number] = true
	}
	for i := range r.geometry.Shards {
		header := r.data[atShard+i*shardStride:]
		r.counts.Recorded += order.Uint64(header[atRecords:])
		r.counts.Large += order.Uint64(header[atLarge:])
		r.counts.Contended += order.Uint64(header[atContended:])
	}
	for i, p := range parts {
		switch b := r.data[p.at:]; {
		case p.number == 0:
		case p.number%uint64(len(parts)) != uint64(i):
			r.damage(partSize - partHeader)
		default:
			r.pairs = append(r.pairs, clockPair{order.Uint64(b[16:]), order.Uint64(b[8:])})
			r.part(p.at, b[:p.end], known)
		}
	}
	slices.SortFunc(r.pairs, func(a, b clockPair) int { return compare(a.ring, b.ring) })
	slices.SortStableFunc(r.records, func(a, b recorded) int { return compare(a.time, b.time) })
	r.counts.Kept = uint64(len(r.records))
	r.countDamage(uint64(len(parts)))
}

// damage notes that n bytes of a part cannot be read.
func (r *Recording) damage(n int) {
	r.counts.Damaged++
	r.damaged += n
}

// countDamage counts the events that cannot be read in the parts. If some have been
// replaced by later ones, it takes them for as large as the others are.
func (r *Recording) countDamage(parts uint64) {
	c := &r.counts
	newest := uint64(0)
	for i := range r.geometry.Shards {
		if head := order.Uint64(r.data[atShard+i*shardStride:]); head != 0 {
			newest = max(newest, (head-1)/partSize)
		}
	}
	c.Exact = newest <= parts
	known := c.Kept + c.Unknown
	switch {
	case c.Damaged == 0:
	case c.Exact:
		c.Illegible = max(c.Recorded, known) - known
	case len(r.records) > 0:
		size := 0
		for _, rec := range r.records {
			size += pad(int(order.Uint32(r.data[rec.at:])))
		}
		c.Illegible = uint64(r.damaged * len(r.records) / size)
	}
}

func compare(a, b uint64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// part finds the records of a part, of probes that are known.
func (r *Recording) part(at int, part []byte, known map[uint32]bool) {
	for n := partHeader; n < len(part); {
		if len(part)-n < 8 {
			r.damage(len(part) - n)
			return
		}
		length, site := int(order.Uint32(part[n:])), order.Uint32(part[n+4:])
		if site == padding && length == partSize-n {
			return
		}
		if length < recordHeader || pad(length) > len(part)-n {
			r.damage(len(part) - n)
			return
		}
		if known[site&siteMask] {
			r.records = append(r.records, recorded{at + n, order.Uint64(part[n+8:])})
		} else {
			r.counts.Unknown++
		}
		n += pad(length)
	}
}

// objects finds the objects behind the areas. One that is damaged costs its own probes.
func (r *Recording) objects(b []byte) {
	whole := true
	for len(b) > 0 {
		n := r.object(b)
		if whole = whole && n > 0; n == 0 {
			n = min(8, len(b)) // where the next one may begin
		}
		b = b[n:]
	}
	if !whole {
		r.counts.Damaged++
	}
}

// object takes the object at the beginning of b, and returns its size, 0 if there is none.
func (r *Recording) object(b []byte) int {
	if len(b) < objectHeader || string(b[:8]) != objectMagic {
		return 0
	}
	size, image, n := order.Uint64(b[8:]), order.Uint64(b[16:]), uint64(order.Uint32(b[24:]))
	start := objectHeader + 16*n
	if size > uint64(len(b)) || size%8 != 0 || start > size || image > size-start {
		return 0
	}
	for i := range n {
		s := b[objectHeader+16*i:]
		r.sites = append(r.sites, RecordedSite{
			Number: uint32(order.Uint64(s)), Location: order.Uint64(s[8:]),
			Object: b[start : start+image : start+image], Limit: int(min(order.Uint32(b[28:]), MaxRecord)),
		})
	}
	return int(size)
}

// Sites returns the probes whose records the file may have.
func (r *Recording) Sites() []RecordedSite { return r.sites }

// Counts returns what became of the events.
func (r *Recording) Counts() RecordingCounts { return r.counts }

// Records returns the records in the format of package record, in the order of their
// times, which are CLOCK_REALTIME in nanoseconds. Each is valid until the next.
func (r *Recording) Records() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		var buf []byte
		rd := Reader{task: uint64(r.PID) << 32}
		copy(rd.comm[:15], r.Comm)
		for _, rec := range r.records {
			b := r.data[rec.at:]
			length, site := order.Uint32(b), order.Uint32(b[4:])
			buf = rd.compose(buf, site, r.wall(rec.time), b[recordHeader:length])
			if !yield(buf, nil) {
				return
			}
		}
	}
}

// wall converts the ring's time, by the two comparisons of the clocks around it, or by
// the two that are farthest apart if the time is later than all.
func (r *Recording) wall(at uint64) uint64 {
	i, _ := slices.BinarySearchFunc(r.pairs, at, func(p clockPair, at uint64) int { return compare(p.ring, at) })
	a, b := r.pairs[max(i-1, 0)], r.pairs[min(i, len(r.pairs)-1)]
	if i == 0 || i == len(r.pairs) {
		first := r.pairs[0]
		if a = b; i == 0 {
			a = first
		}
		b, first = r.pairs[len(r.pairs)-1], r.pairs[0]
		if b.ring == first.ring {
			return a.wall
		}
		rate := float64(int64(b.wall-first.wall)) / float64(b.ring-first.ring)
		return a.wall + uint64(int64(float64(int64(at-a.ring))*rate))
	}
	if a.ring == b.ring {
		return a.wall
	}
	rate := float64(int64(b.wall-a.wall)) / float64(b.ring-a.ring)
	return a.wall + uint64(int64(float64(at-a.ring)*rate))
}

// Close frees nothing: the file was read when it was opened.
func (r *Recording) Close() error { return nil }
