package tracefile

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
)

// bufferSize is how many bytes of records are gathered for one chunk.
const bufferSize = 256 << 10

// Writer writes a file. Each chunk is one call of the underlying Write, so that only the
// last one can be torn.
type Writer struct {
	w       io.Writer
	buf     []byte     // a chunk of records: room for its header, and what was gathered
	calls   *callTable // nil unless there are stacks
	offset  int64      // of the last time chunk
	timed   bool       // there is one
	written int64
	waiting uint64 // records in buf
	records uint64 // written
	err     error  // the first one; nothing is written behind it
}

// NewWriter begins a file.
func NewWriter(w io.Writer, info *Info) (*Writer, error) {
	f := &Writer{w: w, buf: make([]byte, chunkSize, bufferSize+64<<10)}
	header := make([]byte, headerSize)
	copy(header, magic)
	binary.LittleEndian.PutUint32(header[len(magic):], version)
	f.write(header)
	f.put(tagInfo, info)
	return f, f.err
}

// Written returns the number of bytes of the whole chunks that have been written.
func (f *Writer) Written() int64 { return f.written }

// Records returns the number of records that have been written.
func (f *Writer) Records() uint64 { return f.records }

// Err returns the first error; nothing was written after it.
func (f *Writer) Err() error { return f.err }

// Waiting reports whether records have been gathered that are not written yet.
func (f *Writer) Waiting() bool { return len(f.buf) > chunkSize }

// Size returns the size of the file when all that has been gathered is written.
func (f *Writer) Size() int64 {
	size := f.written
	if f.Waiting() {
		size += int64(len(f.buf))
	}
	if f.calls.waiting() {
		size += int64(len(f.calls.buf))
	}
	return size
}

// Stack returns the number of a stack, which records behind it may end with, until the upper
// half of a number changes: then those before are forgotten. Memory is bounded by that.
func (f *Writer) Stack(s *Stack) (uint64, error) {
	if f.calls == nil {
		f.calls = newCallTable()
	}
	if f.calls.size >= generationSize {
		f.Flush() // with the records of this generation
		f.calls.begin()
	}
	n := f.calls.stack(s, f.flushCalls)
	return stackNumber(f.calls.generation, n), f.err
}

// Add appends a record. at is the distance from the clock of its time to the wall clock.
func (f *Writer) Add(rec []byte, at int64) error {
	if at != f.offset || !f.timed {
		f.setTime(at)
	}
	if f.err != nil {
		return f.err
	}
	f.buf = binary.LittleEndian.AppendUint32(f.buf, uint32(len(rec)))
	f.buf = append(f.buf, rec...)
	f.waiting++
	if len(f.buf) >= bufferSize {
		return f.Flush()
	}
	return f.err
}

func (f *Writer) setTime(offset int64) {
	f.Flush()
	f.offset, f.timed = offset, true
	f.chunk(tagTime, binary.LittleEndian.AppendUint64(nil, uint64(offset)))
}

// Site describes the site whose number following records have.
func (f *Writer) Site(s *Site) error {
	f.put(tagSite, s)
	return f.err
}

// Count notes what has become of events.
func (f *Writer) Count(c *Counts) error {
	f.put(tagCount, c)
	return f.err
}

// flushCalls writes what stacks are.
func (f *Writer) flushCalls() {
	if f.calls.waiting() {
		if f.write(f.calls.chunk()); f.err == nil {
			f.calls.written()
		}
	}
}

// Flush writes the records that have been gathered, behind what their stacks are.
func (f *Writer) Flush() error {
	f.flushCalls()
	if f.Waiting() {
		putHeader(f.buf, tagData, f.buf[chunkSize:])
		if f.write(f.buf); f.err == nil {
			f.records += f.waiting
			f.buf, f.waiting = f.buf[:chunkSize], 0
		}
	}
	return f.err
}

// End says that the file is whole.
func (f *Writer) End() error {
	f.Flush()
	f.chunk(tagEnd, nil)
	return f.err
}

// Mend continues after an error, such as that of a full disk. seek has the next byte written at an
// offset. Records that did not fit as one chunk are written in small ones, as many as leave room for
// the end of the file.
func (f *Writer) Mend(seek func(offset int64) error) {
	records := f.buf[chunkSize:]
	if f.calls != nil {
		if f.calls.waiting() {
			records = nil // what their stacks are is lost
		}
		f.calls.begin()
	}
	if seek(f.written) != nil {
		return
	}
	f.err = nil
	for size, n := piece(records); n > 0; size, n = piece(records) {
		before := f.written
		f.chunk(tagData, records[:size])
		_, full := f.w.Write(make([]byte, endSize))
		if f.err != nil || full != nil {
			f.err, f.written, records = nil, before, nil
		} else {
			f.records, records = f.records+n, records[size:]
		}
		if f.err = seek(f.written); f.err != nil {
			break
		}
	}
	f.buf, f.waiting = f.buf[:chunkSize], 0
}

// endSize is the room for the chunks that end a file; pieceSize is that of a chunk before them.
const endSize, pieceSize = 1 << 10, 1 << 10

// piece returns the size of the first records, about pieceSize bytes, and how many they are.
func piece(records []byte) (size int, n uint64) {
	for size < len(records) && size < pieceSize {
		size += 4 + int(binary.LittleEndian.Uint32(records[size:]))
		n++
	}
	return size, n
}

// put writes a chunk of JSON, behind the records that have been gathered.
func (f *Writer) put(t tag, v any) {
	b, err := json.Marshal(v)
	if err == nil && len(b) > maxChunk {
		err = fmt.Errorf("a description of %d bytes is longer than %d", len(b), maxChunk)
	}
	if err != nil && f.err == nil {
		f.err = err
		return
	}
	f.Flush()
	f.chunk(t, b)
}

func (f *Writer) chunk(t tag, payload []byte) {
	b := append(make([]byte, chunkSize, chunkSize+len(payload)), payload...)
	putHeader(b, t, b[chunkSize:])
	f.write(b)
}

func (f *Writer) write(b []byte) {
	if f.err != nil {
		return
	}
	if _, f.err = f.w.Write(b); f.err == nil {
		f.written += int64(len(b))
	}
}
