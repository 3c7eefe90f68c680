package tracefile

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"iter"
	"os"
	"syscall"

	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/shape"
	"github.com/go-usdt/usdt/reader"
)

// ErrNot is the error of a file that does not begin as the files of this package do.
var ErrNot = errors.New("it is no file that sdttrace record has written")

// Limits on what is kept of a file.
const (
	maxSite  = 512 << 10 // bytes of a description
	maxSites = 64 << 20  // of all
)

// File is a file as it was when it was opened; somebody may still be writing to it.
type File struct {
	Info   Info
	Sites  []SavedSite      // their places are the numbers that Records gives them
	Counts Counts           // the last ones
	Groups map[uint64]Group // control groups by their ids
	Losses []Loss           // of all Counts; Records adds where it leaves out what is damaged
	Ended  bool             // the file ended in order
	// Torn is the number of bytes behind the last whole chunk. Damaged is the number of
	// bytes left out within the file.
	Torn, Damaged int64
	// Illegible is the number of records that the file had, and that Records could not
	// yield: as its counts tell and, behind the last ones, at least one for each chunk.
	Illegible uint64

	calls calls // of the records that are being read

	r     io.ReaderAt
	end   int64 // of the last whole chunk
	close func() error
}

// SavedSite is a site of a file.
type SavedSite struct {
	*Site
	Probe *reader.Probe
	Shape *shape.Shape
}

// Is reports whether the file at path begins as the files of this package do.
func Is(path string) bool {
	f, err := open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	b := make([]byte, len(magic))
	_, err = f.ReadAt(b, 0)
	return err == nil && string(b) == magic
}

// open opens a regular file. A FIFO keeps nobody waiting.
func open(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, errors.Unwrap(err) // the caller names the path
	}
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		f.Close()
		return nil, errors.New("it is no regular file")
	}
	return f, nil
}

// Open opens a file and reads all but its records.
func Open(path string) (*File, error) {
	f, err := open(path)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, errors.Unwrap(err)
	}
	out, err := read(f, st.Size())
	if err != nil {
		f.Close()
		return nil, err
	}
	out.close = f.Close
	return out, nil
}

// Close closes the file.
func (f *File) Close() error {
	if f.close == nil {
		return nil
	}
	return f.close()
}

// read reads all but the records of a file of size bytes.
func read(r io.ReaderAt, size int64) (*File, error) {
	f := &File{r: r}
	header := make([]byte, headerSize)
	if n, err := r.ReadAt(header, 0); n < headerSize || string(header[:len(magic)]) != magic {
		if n < headerSize && err == io.EOF {
			err = nil
		}
		return nil, errors.Join(ErrNot, err)
	}
	if v := binary.LittleEndian.Uint32(header[len(magic):]); v != version {
		return nil, fmt.Errorf("it has version %d, and this program reads version %d: use a newer one", v, version)
	}
	sites, fields := 0, maxFields
	f.end, f.Torn = size, size-headerSize
	for c, payload := range f.walk(func(t tag) bool { return t != tagData }) {
		var err error
		switch {
		case c.tag == tagData:
		case payload == nil:
			f.Damaged += chunkSize + int64(c.length)
		case c.tag == tagInfo:
			err = json.Unmarshal(payload, &f.Info)
		case c.tag == tagCount:
			f.Counts = Counts{}
			err = json.Unmarshal(payload, &f.Counts)
			f.Losses = append(f.Losses, f.Counts.Losses...)
		case c.tag == tagGroup:
			if !f.group(payload) {
				f.Damaged += chunkSize + int64(c.length)
			}
		case c.tag == tagEnd:
			f.Ended = true
		case c.tag == tagSite:
			if sites += c.length; c.length > maxSite || sites > maxSites {
				return nil, fmt.Errorf("it describes sites by more than %d bytes each, or %d in all", maxSite, maxSites)
			}
			err = f.site(payload, &fields)
		}
		if err != nil {
			return nil, err
		}
		f.Torn = size - c.at - int64(c.length)
		if f.Ended {
			break
		}
	}
	f.end = size - f.Torn
	return f, nil
}

// walk yields the chunks up to f.end, with the payloads of the kinds that are wanted. The
// payload of one that is damaged, or cannot be read, is nil. Payloads are overwritten.
func (f *File) walk(wanted func(tag) bool) iter.Seq2[chunk, []byte] {
	return func(yield func(chunk, []byte) bool) {
		var memory []byte
		header := make([]byte, chunkSize)
		for at := int64(headerSize); f.end-at >= chunkSize; {
			if _, err := f.r.ReadAt(header, at); err != nil {
				return
			}
			c, ok := parseHeader(header, at)
			if !ok || int64(c.length) > f.end-c.at {
				return
			}
			var payload []byte
			if wanted(c.tag) {
				if memory == nil || len(memory) < c.length {
					memory = make([]byte, max(c.length, 4<<10))
				}
				payload = memory[:c.length:c.length]
				if n, _ := f.r.ReadAt(payload, c.at); n < c.length || crc32.Checksum(payload, castagnoli) != c.sum {
					payload = nil
				}
			}
			if !yield(c, payload) {
				return
			}
			at = c.at + int64(c.length)
		}
	}
}

// site adds a site.
func (f *File) site(payload []byte, fields *int) error {
	var d Site
	err := json.Unmarshal(payload, &d)
	s := SavedSite{Site: &d}
	if err == nil {
		s.Probe, err = d.probe()
	}
	if err == nil {
		s.Shape, err = d.shape(fields)
	}
	slots := []int{d.CarrierSlot, d.CPU, d.UID}
	if d.Cgroup != nil {
		slots = append(slots, *d.Cgroup)
	}
	for _, slot := range slots {
		if err == nil && (slot < -1 || slot >= d.Layout.Slots) {
			err = errOutside
		}
	}
	if err != nil {
		return fmt.Errorf("it describes a site wrongly: %w", err)
	}
	d.Fields, d.Unshown = nil, nil // the shape has them
	f.Sites = append(f.Sites, s)
	return nil
}

// Records yields the records in the order in which they were written, with times of the
// wall clock and the places of their sites in Sites. Each is valid until the next one, as
// is the number of its stack, and may be changed. Chunks that are damaged are left out, and
// counted: Illegible begins anew.
func (f *File) Records() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		numbers := map[uint32]uint32{}
		sites, offset := uint32(0), uint64(0)
		read := uint64(0)
		last, missing := int64(0), uint64(0) // when the last record fired, and what was Illegible then
		f.calls, f.Illegible = calls{}, 0
		for c, payload := range f.walk(func(t tag) bool { return t != tagInfo && t != tagEnd && t != tagGroup }) {
			switch {
			case payload == nil && c.tag != tagData: // counted when the file was opened
			case payload == nil || c.tag == tagTime && len(payload) != 8:
				f.Damaged += chunkSize + int64(c.length)
				if c.tag == tagData {
					f.Illegible++
				}
			case c.tag == tagCount:
				var counts Counts
				if json.Unmarshal(payload, &counts) == nil && counts.Recorded >= read {
					f.Illegible = counts.Recorded - read
				}
			case c.tag == tagSite && int(sites) < len(f.Sites):
				numbers[f.Sites[sites].Number] = sites
				sites++
			case c.tag == tagCalls:
				if !f.calls.add(payload) {
					f.Damaged += chunkSize + int64(c.length)
				}
			case c.tag == tagTime:
				offset = binary.LittleEndian.Uint64(payload)
			case c.tag == tagData:
				for len(payload) > 0 {
					rec, rest, ok := cut(payload)
					if !ok {
						f.Damaged += int64(len(payload))
						f.Illegible++
						break
					}
					number, known := numbers[binary.LittleEndian.Uint32(rec[record.Site:])]
					if payload = rest; !known {
						f.Damaged += int64(4 + len(rec))
						f.Illegible++
						continue
					}
					read++
					binary.LittleEndian.PutUint32(rec[record.Site:], number)
					at := binary.LittleEndian.Uint64(rec[record.Time:]) + offset
					binary.LittleEndian.PutUint64(rec[record.Time:], at)
					if f.Illegible > missing {
						f.Losses = append(f.Losses, Loss{From: last, To: int64(at), N: f.Illegible - missing})
					}
					last, missing = int64(at), f.Illegible
					if !yield(rec, nil) {
						return
					}
				}
			}
		}
	}
}

// Stack returns the stack with the number that the record which Records has just yielded ends
// with. It is nil if what the stack is cannot be read.
func (f *File) Stack(number uint64) *Stack {
	if uint32(number>>32) != f.calls.generation {
		return nil
	}
	return f.calls.stacks[uint32(number)]
}

// cut returns the first record, which has a header at least, and what follows it.
func cut(b []byte) (rec, rest []byte, ok bool) {
	if len(b) < 4 {
		return nil, nil, false
	}
	n := int(binary.LittleEndian.Uint32(b))
	if n < record.HeaderSize || n > min(maxRecord, len(b)-4) {
		return nil, nil, false
	}
	return b[4 : 4+n : 4+n], b[4+n:], true
}
