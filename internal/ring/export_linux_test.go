package ring

import (
	"bytes"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Portably makes w write by the portable writer.
func (w *Writer) WritePortably(r *Record) Result {
	if r.how&words == 0 {
		w.measure(r)
	}
	if w.how&useCounter == 0 {
		r.time = monotonic()
	}
	p := pin()
	defer unpin()
	if p < w.owned {
		return putPortably(&w.shards[p], 0, w.how|r.how|useOwned, 0, r)
	}
	shared := w.shards[w.owned:]
	return putPortably(unsafe.SliceData(shared), uint32(len(shared)-1), w.how|r.how, uint32(p), r)
}

// Owned are the numbers of shards that Ps may own of n: as it is, and none.
func Owned(n int) []int {
	if mayOwn == 0 || n < 2 {
		return []int{0}
	}
	return []int{n / 2, 0}
}

// Own gives n shards to Ps.
func (w *Writer) Own(n int) { w.owned = n }

// Memory returns the data file as the writer sees it, and where the parts begin.
func (w *Writer) Memory() (data []byte, shards, areas int) {
	return unsafe.Slice((*byte)(w.data.at), w.data.size), atShard, w.data.size - len(w.shards)*w.size()
}

// Tail returns the tracer's position of a shard.
func (r *Reader) Tail(shard int) *uint64 { return r.shards[shard].tail }

// Open opens the two files, as a tracer gets them.
func (w *Writer) Open() (data, control *os.File) {
	var files [2]*os.File
	for i, fd := range w.Files {
		dup, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			panic(err)
		}
		files[i] = os.NewFile(uintptr(dup), "ring")
	}
	return files[0], files[1]
}

// Read returns a Reader of w's files.
func (w *Writer) Read(pid, most int) (*Reader, error) {
	data, control := w.Open()
	defer data.Close()
	defer control.Close()
	return NewReader(data, control, pid, most, nil)
}

// ReadRecording reads the bytes of a recorder's file.
func ReadRecording(b []byte) (*Recording, error) { return read(bytes.NewReader(b)) }
