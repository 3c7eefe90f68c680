package notes

import (
	"encoding/binary"
	"fmt"
	"io"
	"iter"
)

// maxNote bounds a note's length: an argument is a line of assembler text.
const maxNote = 1 << 20

// All returns the notes in data, the contents of a .note.stapsdt section. It skips
// notes of other owners or types. A note whose description is malformed, or longer
// than 1 MiB, yields an error, and the walk goes on with the next note. A header that
// leaves no way to find the next note ends the walk with an error that wraps
// [ErrTruncated].
func All(data []byte, order binary.ByteOrder, class Class) iter.Seq2[Note, error] {
	return all(nil, uint64(len(data)), data, order, class, true)
}

// Read is like [All] for the first size bytes of r, and holds a small part of them in
// memory at a time. An error of r ends the walk.
func Read(r io.ReaderAt, size int64, order binary.ByteOrder, class Class) iter.Seq2[Note, error] {
	return all(r, uint64(max(size, 0)), nil, order, class, true)
}

// Locations yields the locations of the notes that [Read] yields without an error, for a
// fraction of the time: it makes no strings.
func Locations(r io.ReaderAt, size int64, order binary.ByteOrder, class Class) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for n, err := range all(r, uint64(max(size, 0)), nil, order, class, false) {
			if err == nil && !yield(n.Location) {
				return
			}
		}
	}
}

// all yields notes without their texts unless these are wanted.
func all(r io.ReaderAt, size uint64, data []byte, order binary.ByteOrder, class Class, wanted bool) iter.Seq2[Note, error] {
	return func(yield func(Note, error) bool) {
		var texts *arena
		if wanted {
			texts = &arena{}
		}
		w := window{r: r, size: size, data: data}
		for off := uint64(0); off < size; {
			head, err := w.at(off, min(noteHead, size-off))
			if err != nil {
				yield(Note{}, err)
				return
			}
			if len(head) < 12 {
				// A producer's section may end in alignment padding.
				if zeros(head) < len(head) {
					yield(Note{}, fmt.Errorf("note header at offset %#x: %w", off, ErrTruncated))
				}
				return
			}
			namesz := uint64(order.Uint32(head[0:]))
			descsz := uint64(order.Uint32(head[4:]))
			typ := order.Uint32(head[8:])
			if namesz|descsz == 0 && typ == 0 {
				// Skip empty notes and padding at once, since the rest of a large
				// section may be nothing else.
				off += uint64(zeros(w.from(off)) / 12 * 12)
				continue
			}
			desc := 12 + align4(namesz)
			end := desc + descsz
			if end > size-off {
				yield(Note{}, fmt.Errorf("note at offset %#x needs %d bytes, section has %d left: %w", off, end, size-off, ErrTruncated))
				return
			}
			if typ == noteType && namesz == uint64(len(noteOwner)) && string(head[12:]) == noteOwner {
				var n Note
				err := w.note(&n, off, desc, end, order, class, texts)
				if err != nil {
					err = fmt.Errorf("note at offset %#x: %w", off, err)
				}
				if !yield(n, err) || w.err != nil {
					return
				}
			}
			off += align4(end)
		}
	}
}

// noteHead is the length of a note's header with the owner that All looks for.
const noteHead = uint64(12 + len(noteOwner))

// window is the part of a section that is in memory.
type window struct {
	r    io.ReaderAt // nil if data is all of the section
	size uint64      // of the section
	data []byte
	off  uint64 // of data in the section
	err  error  // of r
}

// windowSize fits into a processor's cache and holds hundreds of notes.
const windowSize = 64 << 10

// at returns n bytes at off, which the section has.
func (w *window) at(off, n uint64) ([]byte, error) {
	if off-w.off+n > uint64(len(w.data)) {
		if err := w.read(off, n); err != nil {
			return nil, err
		}
	}
	return w.data[off-w.off:][:n], nil
}

// from returns the bytes in memory from off on.
func (w *window) from(off uint64) []byte { return w.data[off-w.off:] }

// read moves the window to off, where it holds at least n bytes.
func (w *window) read(off, n uint64) error {
	size := max(n, min(windowSize, w.size-off))
	if uint64(cap(w.data)) < size {
		w.data = make([]byte, size)
	}
	got, err := w.r.ReadAt(w.data[:size], int64(off))
	w.data, w.off = w.data[:got], off
	if uint64(got) >= n {
		return nil
	}
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	w.err = fmt.Errorf("read %d bytes at offset %#x: %w", n, off, err)
	return w.err
}

// note decodes the note at off, with its description between desc and end, into n.
func (w *window) note(n *Note, off, desc, end uint64, order binary.ByteOrder, class Class, texts *arena) error {
	if end > maxNote {
		return fmt.Errorf("it has %d bytes, more than the %d that are read", end, maxNote)
	}
	data, err := w.at(off, end)
	if err != nil {
		return err
	}
	return decodeDesc(n, data[desc:], order, class, texts)
}

// zeros returns the number of zero bytes that b begins with.
func zeros(b []byte) (n int) {
	for len(b) >= 8 && binary.NativeEndian.Uint64(b) == 0 {
		n, b = n+8, b[8:]
	}
	for len(b) > 0 && b[0] == 0 {
		n, b = n+1, b[1:]
	}
	return n
}
